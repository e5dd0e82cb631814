// Package tables reads policy tables from YAML, and ships the starter table.
//
//	starter.yaml (embedded) ┐
//	operator's files        ├─ Read ─▶ Snapshot ─ Compile ─▶ *policy.Policy, or all faults at once
//	organisation's file     ┘
//
// A file is read as data of a fixed form and nothing else: at most MaxFile bytes of
// one YAML document, without anchors, aliases, merge keys or tags of its own, so
// that a small file cannot become a large one; every key is known, every key stands
// once. Faults name line and place, and never repeat a value.
//
// The package watches nothing: whoever does (core/policy/inforce) reads again, and
// compiles what has changed through a policy.Holder, which keeps the tables in force
// when the new ones are refused.
package tables
