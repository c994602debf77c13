package main

import (
	"fmt"
	"slices"
	"strings"
)

// licences are those that are allowed, and sentences that each has and no other. A text with one of the sentences is under that
// licence.
var licences = []struct{ id, sentence string }{
	{"Apache-2.0", "apache license version 2.0, january 2004"},
	{"Apache-2.0", "licensed under the apache license, version 2.0"},
	{"MIT", "to deal in the software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies"},
	{"BSD-3-Clause", "may be used to endorse or promote products derived from this software without specific prior written permission"},
	{"BSD-2-Clause", "redistributions in binary form must reproduce the above copyright notice, this list of conditions and the following disclaimer in the documentation and/or other materials provided with the distribution"},
	{"ISC", "permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted, provided that"},
	{"ISC", "permission to use, copy, modify, and distribute this software for any purpose with or without fee is hereby granted, provided that"},
	{"0BSD", "permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted. the software is provided"},
	{"MPL-2.0", "mozilla public license version 2.0"},
	{"blessing", "has been dedicated to the public domain by the authors"}, // SQLite's
}

// refused are words of licences that are not allowed, and of terms that are added to one that is. The Mozilla licence names the
// first three.
var refused = []string{"gnu general public license", "gnu lesser general public license", "gnu affero general public license",
	"commons clause", "server side public license", "business source license", "elastic license", "non-commercial use only"}

const named = 3 // of refused, in the Mozilla licence

// licencesOf returns the licences that a text holds, sorted.
func licencesOf(text string) ([]string, error) {
	text = plain(text)
	var found []string
	for _, l := range licences {
		if strings.Contains(text, l.sentence) && !slices.Contains(found, l.id) {
			found = append(found, l.id)
		}
	}
	if slices.Contains(found, "BSD-3-Clause") { // which has all that the other one has
		found = slices.DeleteFunc(found, func(id string) bool { return id == "BSD-2-Clause" })
	}
	words := refused
	if slices.Contains(found, "MPL-2.0") {
		words = refused[named:]
	}
	for _, w := range words {
		if strings.Contains(text, w) {
			return nil, fmt.Errorf("its licence names the %q", w)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("its licence is none of those that are allowed")
	}
	slices.Sort(found)
	return found, nil
}

// plain is a text in lower case, its words with one space between them, without marks of comments and lists.
func plain(text string) string {
	words := strings.Fields(strings.ToLower(text))
	words = slices.DeleteFunc(words, func(w string) bool { return strings.Trim(w, "*/#>-") == "" })
	return strings.Join(words, " ")
}
