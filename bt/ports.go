package bt

import (
	"maps"
	"slices"
)

// bound is a port of a scope: a key that stands for one of the scope around it.
type bound struct {
	port Port
	key  string // empty in a subtree that nothing uses
}

func (p Port) reads() bool  { return p != Out }
func (p Port) writes() bool { return p != In }

// checkPorts checks the ports that a subtree has.
func (c *compiler) checkPorts(s Subtree) {
	for _, key := range slices.Sorted(maps.Keys(s.Ports)) {
		switch p := s.Ports[key]; {
		case p != In && p != Out && p != InOut:
			c.problem(s.At, s.Name, "port %.80q is in, out or inout, and not %.80q", key, p)
		case s.Blackboard[key] == "":
			c.problem(s.At, s.Name, "port %.80q has no type: add it to the blackboard of %q", key, s.Name)
		}
	}
}

// bind checks the keys that a node gives to a subtree's ports, and returns them.
func (c *compiler) bind(n *Node, s *Subtree, scope int32, path string) map[string]bound {
	say := func(format string, args ...any) { c.problem(n.At, path, format, args...) }
	for _, port := range slices.Sorted(maps.Keys(n.Ports)) {
		if s.Ports[port] == "" {
			say("%s has no port %.80q%s", s.Name, port, nearest(port, slices.Sorted(maps.Keys(s.Ports))))
		}
	}
	all := map[string]bound{}
	for _, port := range slices.Sorted(maps.Keys(s.Ports)) {
		key, p := n.Ports[port], s.Ports[port]
		all[port] = bound{p, key}
		if key == "" {
			if !c.alone || len(c.using) > 1 {
				say("port %.80q stands for no key: add ports = {%[1]s = \"a key\"}", port)
			}
			continue
		}
		if p.reads() {
			c.reads(n, scope, path, key)
		}
		if p.writes() {
			c.writes(n, scope, path, key)
		}
		inside, outside := s.Blackboard[port], c.declared(scope, key)
		if inside != "" && outside != "" && (p.reads() && !fits(outside, inside) || p.writes() && !fits(inside, outside)) {
			say("port %.80q has the type %s, and key %.80q the type %s", port, inside, key, outside)
		}
	}
	return all
}

// fits reports whether values of a type can be had by a key of another. One of type any
// takes all, and what it holds shows when the tree runs.
func fits(from, to string) bool {
	plain := map[string]string{"number": "float", "table": "map"}
	if p := plain[from]; p != "" {
		from = p
	}
	if p := plain[to]; p != "" {
		to = p
	}
	return from == to || from == "any" || to == "any" || from == "int" && to == "float"
}

// reads checks that a node can read keys.
func (c *compiler) reads(n *Node, scope int32, path string, keys ...string) {
	for _, key := range keys {
		if c.need(n, scope, path, key) && c.port(scope, key) == Out {
			c.problem(n.At, path, "key %.80q is an output of the subtree, which can't be read: make it inout", key)
		}
	}
}

// writes checks that a node can set keys.
func (c *compiler) writes(n *Node, scope int32, path string, keys ...string) {
	for _, key := range keys {
		if c.need(n, scope, path, key) && c.scopes[scope].ports[key].port == In {
			c.problem(n.At, path, "key %.80q is an input of the subtree, which can't be set: make it inout", key)
		}
	}
}

// port returns what a key is that a scope sees, if it is a port.
func (p *Program) port(scope int32, key string) Port {
	for ; scope >= 0; scope = p.scopes[scope].parent {
		if p.scopes[scope].keys[key] != "" {
			return p.scopes[scope].ports[key].port
		}
	}
	return ""
}
