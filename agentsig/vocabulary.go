package agentsig

import "slices"

// Dialect is one of the three forms a signal is written in.
type Dialect string

// The dialects.
const (
	DialectLine Dialect = "line"
	DialectXML  Dialect = "xml"
	DialectExit Dialect = "exit"
)

// Kind names a signal independently of how it is written.
type Kind string

// The kinds of the line dialect.
const (
	KindReadyForReview      Kind = "ready_for_review"
	KindTaskIncomplete      Kind = "task_incomplete"
	KindInfraBlocked        Kind = "infra_blocked"
	KindReviewPassed        Kind = "review_passed"
	KindReviewFailed        Kind = "review_failed"
	KindAuditPassed         Kind = "audit_passed"
	KindAuditFailed         Kind = "audit_failed"
	KindAuditBlocked        Kind = "audit_blocked"
	KindExpandedSpec        Kind = "expanded_spec"
	KindRemediationComplete Kind = "remediation_complete"
	KindHealthHealthy       Kind = "health_healthy"
	KindHealthUnhealthy     Kind = "health_unhealthy"
	KindDivineClarification Kind = "divine_clarification"
	KindExpertRequest       Kind = "expert_request"
	KindExpertAdvice        Kind = "expert_advice"
	KindExpertUnsuccessful  Kind = "expert_unsuccessful"
	KindExpertCreated       Kind = "expert_created"
	KindFileConflict        Kind = "file_conflict"
	KindCheckpoint          Kind = "checkpoint"
)

// The kinds of the XML dialect.
const (
	KindNeedTurn              Kind = "need_turn"
	KindContextSufficient     Kind = "context_sufficient"
	KindStuck                 Kind = "stuck"
	KindNeedCapability        Kind = "need_capability"
	KindPartialAnswer         Kind = "partial_answer"
	KindDelegationRecommended Kind = "delegation_recommended"
)

// KindExit is the one kind of the exit dialect.
const KindExit Kind = "exit"

// Kinds of a [Verdict] that found no one signal.
const (
	KindUnknown   Kind = "unknown"
	KindAmbiguous Kind = "ambiguous"
)

// Role is what an agent was started as.
type Role string

// The roles.
const (
	RoleDeveloper     Role = "developer"
	RoleCritic        Role = "critic"
	RoleAuditor       Role = "auditor"
	RoleAnalyst       Role = "analyst"
	RoleRemediation   Role = "remediation"
	RoleHealthAuditor Role = "health_auditor"
	RoleExpert        Role = "expert"
)

// Roles lists every role.
func Roles() []Role {
	return []Role{RoleDeveloper, RoleCritic, RoleAuditor, RoleAnalyst, RoleRemediation, RoleHealthAuditor, RoleExpert}
}

// Phase returns the phase that an agent in this role completes with an exit
// record, and false for roles that hand over no phase.
func (r Role) Phase() (Phase, bool) {
	switch r {
	case RoleAnalyst:
		return PhaseDraft, true
	case RoleDeveloper:
		return PhaseImplementation, true
	case RoleCritic:
		return PhaseReview, true
	case RoleAuditor:
		return PhaseReadyForMerge, true
	}
	return "", false
}

// Action is what the listener does next.
type Action string

// RequestClarification is the action for unknown and ambiguous output.
const RequestClarification Action = "REQUEST_CLARIFICATION"

// Argument says what stands behind a line signal's name.
type Argument string

// The arguments.
const (
	NoArgument      Argument = ""        // the line is the name alone
	TaskArgument    Argument = "task"    // the id of the assigned task
	RequestArgument Argument = "request" // the id of the expert request
	NameArgument    Argument = "name"    // the rest of the line
	PathArgument    Argument = "path"    // the rest of the line
)

// Priority orders signals that stand beside each other: lower is handled first.
type Priority int

// The priorities.
const (
	PriorityBlocked Priority = iota
	PriorityQuestion
	PriorityExpert
	PriorityConflict
	PriorityWorkflow
)

// Key is a payload key or field that goes with a kind.
type Key struct {
	Name     string
	Required bool
	Type     KeyType
	Min, Max int      // characters of a text, value of an integer, least length of a list
	Values   []string // what a text may be, where that is a fixed set
	When     string   // when an agent is to give it, and what; empty if it always is

	zero bool // an integer that can't be read is 0
}

// KeyType is the type of a field's value.
type KeyType string

// The types of field values.
const (
	TextKey KeyType = "text"
	IntKey  KeyType = "integer"
	ListKey KeyType = "list"
)

// KeyNoChange is the field by which READY_FOR_REVIEW claims that there is nothing to change, and why.
const KeyNoChange = "No Change Needed"

// Entry is a row of the vocabulary: all there is to know about a kind.
type Entry struct {
	Kind     Kind
	Dialect  Dialect
	Wire     string   // the name on the line, or the value of the type attribute
	Argument Argument // line dialect only
	Roles    []Role   // who may say it; nil for anyone
	Action   Action
	Terminal bool // it ends a session or a turn
	Priority Priority
	Keys     []Key
	When     string // when an agent is to say it

	// handover is what the end of a session with this signal does to its phase.
	// Without To it follows the phase table, as the exit record that means the
	// same would; without From it ends any phase.
	handover Handover
	own      bool // it is a project's own name for the kind
}

// MayBeSaidBy reports whether an agent in this role may say it.
// The empty role stands for one that is not known, and is not checked.
func (e Entry) MayBeSaidBy(r Role) bool {
	return r == "" || e.Roles == nil || slices.Contains(e.Roles, r)
}

// Vocabulary returns every kind of signal, in the order of the three dialects.
func Vocabulary() []Entry {
	return cloned(vocabulary)
}

func cloned(entries []Entry) []Entry {
	all := slices.Clone(entries)
	for i := range all {
		all[i].Roles, all[i].Keys = slices.Clone(all[i].Roles), slices.Clone(all[i].Keys)
	}
	return all
}

// Lookup returns the entry of a kind.
func Lookup(k Kind) (Entry, bool) {
	if e := entryOf(k); e != nil {
		return *e, true
	}
	return Entry{}, false
}

func entryOf(k Kind) *Entry {
	for i := range vocabulary {
		if vocabulary[i].Kind == k {
			return &vocabulary[i]
		}
	}
	return nil
}

func texts(names ...string) []Key {
	keys := make([]Key, len(names))
	for i, n := range names {
		keys[i] = Key{Name: n, Type: TextKey}
	}
	return keys
}

var vocabulary = []Entry{
	{
		Kind: KindReadyForReview, Dialect: DialectLine, Wire: "READY_FOR_REVIEW", Argument: TaskArgument,
		Roles: []Role{RoleDeveloper}, Action: "DISPATCH_CRITIC", Terminal: true, Priority: PriorityWorkflow,
		Keys: append(texts("Files Modified", "Tests Written", "Environments Tested", "Summary"),
			Key{Name: KeyNoChange, Type: TextKey, When: "only if you changed nothing: why nothing has to be changed"}),
		When:     "the task is done and you have verified it yourself",
		handover: Handover{From: PhaseImplementation, Reason: ExitCompleted},
	},
	{
		Kind: KindTaskIncomplete, Dialect: DialectLine, Wire: "TASK_INCOMPLETE", Argument: TaskArgument,
		Roles: []Role{RoleDeveloper}, Action: "LOG_AND_FILL_SLOTS", Terminal: true, Priority: PriorityWorkflow,
		Keys:     texts("Blocker", "Attempted", "Needed"),
		When:     "you cannot finish the task; say what stands in the way",
		handover: Handover{From: PhaseImplementation, Reason: ExitBlocked, To: PhaseImplementation},
	},
	{
		Kind: KindInfraBlocked, Dialect: DialectLine, Wire: "INFRA_BLOCKED", Argument: TaskArgument,
		Roles: []Role{RoleDeveloper}, Action: "ENTER_REMEDIATION", Terminal: true, Priority: PriorityBlocked,
		Keys:     texts("Issue", "Command", "Output", "Environment"),
		When:     "the environment is broken (build, tools, disk, network), not your change",
		handover: Handover{From: PhaseImplementation, Reason: ExitBlocked},
	},
	{
		Kind: KindReviewPassed, Dialect: DialectLine, Wire: "REVIEW_PASSED", Argument: TaskArgument,
		Roles: []Role{RoleCritic}, Action: "DISPATCH_AUDITOR", Terminal: true, Priority: PriorityWorkflow,
		Keys:     texts("Files Reviewed", "Summary"),
		When:     "you reviewed the change and found nothing that must be fixed",
		handover: Handover{From: PhaseReview, Reason: ExitCompleted},
	},
	{
		Kind: KindReviewFailed, Dialect: DialectLine, Wire: "REVIEW_FAILED", Argument: TaskArgument,
		Roles: []Role{RoleCritic}, Action: "DISPATCH_DEVELOPER_REWORK", Terminal: true, Priority: PriorityWorkflow,
		Keys:     texts("Files Reviewed", "Issues Found", "Required Fixes", "Priority", "Summary"),
		When:     "something must be fixed before the change can go on",
		handover: Handover{From: PhaseReview, Reason: ExitCompleted, To: PhaseImplementation},
	},
	{
		Kind: KindAuditPassed, Dialect: DialectLine, Wire: "AUDIT_PASSED", Argument: TaskArgument,
		Roles: []Role{RoleAuditor}, Action: "MARK_COMPLETE", Terminal: true, Priority: PriorityWorkflow,
		Keys:     texts("Passing Criteria", "Pre-existing Failures"),
		When:     "every acceptance criterion is met, and you checked each yourself",
		handover: Handover{From: PhaseReadyForMerge, Reason: ExitCompleted},
	},
	{
		Kind: KindAuditFailed, Dialect: DialectLine, Wire: "AUDIT_FAILED", Argument: TaskArgument,
		Roles: []Role{RoleAuditor}, Action: "DISPATCH_DEVELOPER_REWORK", Terminal: true, Priority: PriorityWorkflow,
		Keys:     texts("Failed Criteria", "Passing Criteria", "Required Fixes", "Pre-existing Failures"),
		When:     "an acceptance criterion is not met",
		handover: Handover{From: PhaseReadyForMerge, Reason: ExitCompleted, To: PhaseImplementation},
	},
	{
		Kind: KindAuditBlocked, Dialect: DialectLine, Wire: "AUDIT_BLOCKED", Argument: TaskArgument,
		Roles: []Role{RoleAuditor}, Action: "ENTER_REMEDIATION", Terminal: true, Priority: PriorityBlocked,
		Keys:     texts("Failed Criteria", "Passing Criteria", "Required Fixes", "Pre-existing Failures"),
		When:     "you cannot audit because the environment is broken or failed before the change",
		handover: Handover{From: PhaseReadyForMerge, Reason: ExitBlocked},
	},
	{
		Kind: KindExpandedSpec, Dialect: DialectLine, Wire: "EXPANDED_TASK_SPECIFICATION", Argument: TaskArgument,
		Roles: []Role{RoleAnalyst}, Action: "PROCESS_EXPANSION", Terminal: true, Priority: PriorityWorkflow,
		Keys:     []Key{{Name: "Confidence", Type: TextKey, Values: []string{"HIGH", "MEDIUM", "LOW"}}},
		When:     "the task is specified well enough to be built",
		handover: Handover{From: PhaseDraft, Reason: ExitCompleted},
	},
	{
		Kind: KindRemediationComplete, Dialect: DialectLine, Wire: "REMEDIATION_COMPLETE",
		Roles: []Role{RoleRemediation}, Action: "DISPATCH_HEALTH_AUDITOR", Terminal: true, Priority: PriorityWorkflow,
		When: "the environment is repaired",
	},
	{
		Kind: KindHealthHealthy, Dialect: DialectLine, Wire: "HEALTH_AUDIT: HEALTHY",
		Roles: []Role{RoleHealthAuditor}, Action: "EXIT_REMEDIATION", Terminal: true, Priority: PriorityWorkflow,
		When: "every check of the environment passes",
	},
	{
		Kind: KindHealthUnhealthy, Dialect: DialectLine, Wire: "HEALTH_AUDIT: UNHEALTHY",
		Roles: []Role{RoleHealthAuditor}, Action: "RETRY_REMEDIATION", Terminal: true, Priority: PriorityWorkflow,
		When: "a check of the environment fails; the details go on the lines below",
	},
	{
		Kind: KindDivineClarification, Dialect: DialectLine, Wire: "SEEKING_DIVINE_CLARIFICATION",
		Roles:  []Role{RoleDeveloper, RoleCritic, RoleAuditor, RoleAnalyst, RoleRemediation},
		Action: "AWAIT_DIVINE_RESPONSE", Terminal: true, Priority: PriorityQuestion,
		Keys:     texts("Question", "Context", "Options Considered", "Attempts Made", "What Would Help"),
		When:     "only a person can answer what you need to know",
		handover: Handover{Reason: ExitBlocked, To: PhaseBlocked},
	},
	{
		Kind: KindExpertRequest, Dialect: DialectLine, Wire: "EXPERT_REQUEST",
		Roles:  []Role{RoleDeveloper, RoleCritic, RoleAuditor},
		Action: "DISPATCH_EXPERT", Terminal: true, Priority: PriorityExpert,
		Keys: texts("Target Agent", "Request Type", "Context Snapshot"),
		When: "an expert should look at it; put what you ask of the expert between the lines " +
			delegationStart + " and " + delegationEnd,
	},
	{
		Kind: KindExpertAdvice, Dialect: DialectLine, Wire: "EXPERT_ADVICE", Argument: RequestArgument,
		Roles: []Role{RoleExpert}, Action: "DELIVER_TO_REQUESTING_AGENT", Terminal: true, Priority: PriorityWorkflow,
		When: "you can answer the request; the advice goes on the lines below",
	},
	{
		Kind: KindExpertUnsuccessful, Dialect: DialectLine, Wire: "EXPERT_UNSUCCESSFUL", Argument: RequestArgument,
		Roles: []Role{RoleExpert}, Action: "ESCALATE_TO_DIVINE", Terminal: true, Priority: PriorityWorkflow,
		When: "you cannot answer the request; say what you tried",
	},
	{
		Kind: KindExpertCreated, Dialect: DialectLine, Wire: "EXPERT_CREATED", Argument: NameArgument,
		Action: "REGISTER_EXPERT", Priority: PriorityWorkflow,
		When: "you defined an expert that others can ask for by this name",
	},
	{
		Kind: KindFileConflict, Dialect: DialectLine, Wire: "FILE CONFLICT", Argument: PathArgument,
		Action: "QUEUE_OR_COORDINATE", Priority: PriorityConflict,
		Keys: []Key{
			{Name: "Assigned To", Type: TextKey}, {Name: "Reason", Type: TextKey},
			{Name: "Can Wait", Type: TextKey, Values: []string{"YES", "NO"}},
		},
		When: "you need a file that another task is changing",
	},
	{
		Kind: KindCheckpoint, Dialect: DialectLine, Wire: "CHECKPOINT", Argument: TaskArgument,
		Action: "PROCESS_CHECKPOINT", Priority: PriorityWorkflow,
		Keys: texts("Status", "Progress", "Remaining"),
		When: "you report progress and go on working",
	},

	{
		Kind: KindNeedTurn, Dialect: DialectXML, Wire: "need_turn",
		Action: "CONTINUE_LOOP", Priority: PriorityWorkflow,
		Keys: []Key{
			{Name: "reason", Required: true, Type: TextKey, Min: 3, Max: 500},
			{Name: "expected_turns", Type: IntKey, Min: 1, Max: 10, zero: true},
		},
		When: "you need another turn to go on",
	},
	{
		Kind: KindContextSufficient, Dialect: DialectXML, Wire: "context_sufficient",
		Action: "EXIT_LOOP", Terminal: true, Priority: PriorityWorkflow,
		Keys: []Key{
			{Name: "sources_found", Required: true, Type: IntKey, Max: maxInteger, zero: true},
			{Name: "source_types", Type: ListKey},
		},
		When: "you know enough, and this reply is the answer",
	},
	{
		Kind: KindStuck, Dialect: DialectXML, Wire: "stuck",
		Action: "TRIGGER_FALLBACK", Terminal: true, Priority: PriorityWorkflow,
		Keys: []Key{
			{Name: "attempted", Required: true, Type: ListKey, Min: 1},
			{Name: "blocker", Required: true, Type: TextKey, Min: 3, Max: 500},
			{Name: "suggestions", Type: ListKey},
		},
		When: "you cannot go on",
	},
	{
		Kind: KindNeedCapability, Dialect: DialectXML, Wire: "need_capability",
		Action: "CONTINUE_LOOP", Priority: PriorityWorkflow,
		Keys: []Key{
			{Name: "capability", Required: true, Type: TextKey, Min: 2, Max: 100},
			{Name: "reason", Required: true, Type: TextKey, Min: 3, Max: 500},
			{Name: "workaround", Type: TextKey, Max: 500},
		},
		When: "you lack a tool or a permission",
	},
	{
		Kind: KindPartialAnswer, Dialect: DialectXML, Wire: "partial_answer",
		Action: "EXIT_LOOP", Terminal: true, Priority: PriorityWorkflow,
		Keys: []Key{
			{Name: "missing", Required: true, Type: TextKey, Min: 3, Max: 500},
			{Name: "caveat", Type: TextKey, Max: 500},
		},
		When: "this reply answers a part, and you cannot get the rest",
	},
	{
		Kind: KindDelegationRecommended, Dialect: DialectXML, Wire: "delegation_recommended",
		Action: "CONTINUE_LOOP", Priority: PriorityWorkflow,
		Keys: []Key{
			{Name: "reason", Required: true, Type: TextKey, Min: 3, Max: 500},
			{Name: "scope", Required: true, Type: TextKey, Min: 3, Max: 500},
			{Name: "estimated_tokens", Type: IntKey, Min: 100, Max: 100_000},
			{Name: "subagent_type", Type: TextKey, Max: 50},
		},
		When: "another agent should do a part of the work",
	},

	{
		Kind: KindExit, Dialect: DialectExit, Wire: ExitProtocol,
		Action: "TRANSITION_TO_NEXT_PHASE", Terminal: true, Priority: PriorityWorkflow,
		Keys: []Key{
			{Name: "protocol", Required: true, Type: TextKey, Max: maxExitName, Values: []string{ExitProtocol}},
			{Name: "version", Required: true, Type: TextKey, Max: maxExitName},
			{Name: "phase_completed", Required: true, Type: TextKey},
			{Name: "exit_reason", Required: true, Type: TextKey},
			{Name: "pr_url", Type: TextKey, Max: maxExitRef},
			{Name: "evidence_bundle_ref", Type: TextKey, Max: maxExitRef},
			{Name: "notes", Type: TextKey, Max: maxExitNotes},
		},
		When: "you finished, or cannot finish, the phase of work that you hold",
	},
}
