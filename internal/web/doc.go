// Package web is the page: what a box shows and takes in a browser.
//
// The page is a client of the box. A browser's session is a client's token, made when a one-time link is spent, recorded in the
// ledger, listed and revoked as all others; every question and every word of the page's goes through the API's own routes with
// that token, so the page can do nothing that its token can't. It lives on the box's listener under a name of its own
// ([Options.Host]), because cookies know no ports: under 127.0.0.1 the cookie would be sent to every other server of this
// machine, also to one that an agent has started. Who does not know the name can't have a browser ask for it, so it is as secret as a
// token, and stands in no event and no log.
//
// What is shown is HTML that is made here. Forms work without a script. The script fetches the parts of a page anew that the
// stream ([hub]) says have changed; the stream says which, and never what. Nothing is parsed and nothing runs before the first
// request, and nothing runs while nobody has the stream open.
//
// Whatever agents, plans and repositories say is text: html/template makes it that, and safetext makes what nobody sees visible.
package web
