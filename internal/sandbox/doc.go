// Package sandbox confines a program, with all that it starts, to what it needs: files that
// it may write, files that it can't even read, the rest of the file system read-only, and the
// network or none.
//
// There are two sandboxes, and a choice between them is never made silently: what a [Policy]
// asks for holds, or the program is not started.
//
// [Landlock] is the kernel's, from Linux 6.12 on (ABI 6; older ones do not keep signals in,
// and the first ones not truncation). It needs no privileges and no other program. Landlock
// knows nothing but permissions, so a directory is hidden by permitting everything beside it,
// one by one, on the way down to it: what is created there after the start can't be read, and
// the directories on the way can't be listed. Names can be asked for with stat everywhere.
// Owner, mode, times and attributes of the user's files can be changed, and so can files in
// /dev/shm: Landlock has no rule for the first, and the second is needed.
//
// [Bubblewrap] is a program that makes namespaces, from Debian's bubblewrap 0.8 on. What is
// hidden is not there, what is read-only is so in every respect, other processes are not to
// be seen, and all that was started ends when the process group is killed, also what has left
// it. It needs user namespaces, unless it is run by root, and some systems refuse them.
//
// In both, a filter of system calls denies Unix sockets, other than pairs: the session bus,
// Docker, an agent for keys or a terminal multiplexer run any command for whoever connects.
// io_uring is denied as it goes around the filter, and so are programs for another processor
// mode, such as 32-bit ones. Capabilities are dropped, other than those to use files of other
// users, and descriptors beyond the standard three are closed. With the network off, Landlock's
// program gets no socket but for the kernel's own (netlink); Bubblewrap's has a loopback of its own.
//
// A program's temporary directory is its own, as TMPDIR: what other programs keep in /tmp is
// theirs. With Bubblewrap it is /tmp as well, and what is there outside is not to be seen
// unless the policy names it. With Landlock /tmp is read-only like the rest, and a program that
// insists on it (Java does) needs a setting of its own, or /tmp among the writable paths.
//
// A directory that is mounted in two places is hidden only where it is named. What may be
// written is believed by whoever reads it next: an agent that can write the settings of its
// own program, as it must to keep the login fresh, can put commands there that run when the
// user starts that program.
//
// On macOS, Windows and the rest there is [None] only: agents have their worktrees and what
// their own programs permit by role, and nothing else holds them.
package sandbox
