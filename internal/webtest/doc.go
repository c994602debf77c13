// Package webtest tests the page of a box in a real browser: a real program delivers a real plan, and Chromium shows it. The
// browser is driven by its own protocol over pipes. Where there is no Chromium the tests are skipped, and say so.
package webtest
