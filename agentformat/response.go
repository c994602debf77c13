package agentformat

// The states of a response.
const (
	StatusSuccess = "success"
	StatusError   = "error"
)

// A Snapshot is what an agent decides from. Its type S is a tool's own, a struct as a rule, and
// the same on success and on failure.
type Snapshot[S any] interface {
	// Flags says what the snapshot means. It sees all of it.
	Flags() []Flag
	// Capped is the snapshot as it is sent, its lists cut to a few. It leaves the snapshot itself
	// as it is.
	Capped() S
}

// A Response is what an agent gets: on success and on failure the same keys.
type Response[S any] struct {
	Status    string  `json:"status"` // StatusSuccess or StatusError
	Format    string  `json:"format"` // "agent"
	Snapshot  S       `json:"snapshot"`
	Flags     []Flag  `json:"flags"`                // the worst first; never nil
	FilePath  *string `json:"file_path"`            // of the full result; nil if there is no file
	FileError string  `json:"file_error,omitempty"` // why a file that was asked for is not there
}

// Respond makes the response to a snapshot that is not capped yet. Every status but
// StatusSuccess is StatusError.
func Respond[S Snapshot[S]](status string, snapshot S, file File) Response[S] {
	flags := append([]Flag{}, snapshot.Flags()...)
	SortFlags(flags)
	response := Response[S]{
		Status:   StatusError,
		Format:   "agent",
		Snapshot: snapshot.Capped(),
		Flags:    flags,
	}
	if status == StatusSuccess {
		response.Status = StatusSuccess
	}
	switch {
	case file.Err != nil:
		response.FileError = file.Err.Error()
	case file.Path != "":
		response.FilePath = &file.Path
	}
	return response
}
