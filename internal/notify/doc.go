// Package notify tells people what waits for them and how runs go, by the command and the webhook of the settings.
//
// A [Teller] follows a box: each question, review and end that it sees becomes a [Message], which is kept in a small file until it
// is told. A message is told at least once in each way, always with the same id; one that can't be told is tried again, with
// pauses that grow. What a box has told before it was killed is not told again, but for what it was just telling. Nothing of it
// is in the ledger: that somebody was told is no fact about the work, and nothing goes by it.
//
// In a cluster each box has a teller, and only that of the box that leads tells. The others keep for a minute what they would have told: one that begins
// to lead tells that, so what the box before it told just before it died is told twice, and nothing is missed. What a box could not tell while it led
// stays with it, until it leads again.
package notify
