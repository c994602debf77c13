package archive

// Unfinished returns the file at the log's end that does not end with a whole write, and ""
// if there is none. It is for an archive that was not started yet: a start cuts off what a
// power cut tore.
func (a *Archive) Unfinished() string {
	if a.tail == nil {
		return ""
	}
	return a.tail.segment
}

// Fresh reports whether there is no archive yet: a start makes one.
func (a *Archive) Fresh() bool { return a.fresh }
