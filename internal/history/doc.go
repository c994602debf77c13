// Package history says what happened in a run and when: who worked on which task, what waited for a person, what the gate said, what
// was merged, and what each role and agent has used. It is pure: a [Fold] takes the events of the run and of its tasks in their order.
package history
