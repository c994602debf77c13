// Package redact takes secrets out of text before it is stored.
//
// A secret is known by its form: a table of kinds says how each begins and how
// it goes on. It is replaced by [redacted:<kind>]; what tells a reader where it
// was (a header's name, a URL's user) stays. The operator can list further
// patterns, which go before the table.
//
// What holds for every text:
//
//   - Redacting twice changes nothing: a mark is never taken for a secret. (A
//     listed pattern that finds something new beside each of its own marks is
//     given up on after some rounds.)
//   - The table takes time linear in the length of the text, also if the text is
//     made to take long. What a listed pattern takes is up to its author.
//   - Valid JSON stays valid JSON: the table's patterns end before a quote and
//     take escapes whole. A listed pattern takes all it matches, so values are
//     better redacted before they are put into JSON.
//
// Secrets that have no form of their own (a password in a sentence) and secrets
// that somebody hid (encoded, split) are not found.
package redact
