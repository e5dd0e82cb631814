// Package settings is what people set for agents, and what they let run unasked: the
// mode of an agent (R51, R52), whether it is paused (R139), its always-allow rules with
// the switches for money (R70, R73), the history of all of these (R76), and second
// thoughts about a no (K34).
//
// The story of one change:
//
//  1. The caller is found entitled: an admin, or an owner of the agent who may decide
//     for it. An agent of others is the same *not found* as one that does not exist
//     (R155). Who changes something is always the authenticated person, never a field.
//  2. What the change does to safety is looked at. A terminal's session may make things
//     stricter; whatever lets more run (a looser mode, a switch for money, resuming) it
//     may do only where the operator configured that answers from a terminal may allow,
//     because an agent may be able to read its file.
//  3. The store makes one guarded write: the person still holds the right, the settings
//     are what they saw, the agent's generation rises, the history has its line. Whoever
//     is second gets the settings as they are now.
//  4. After the commit those who look at the agent's settings are told to look again.
//
// What it promises: no path through here lets money pass other than SwitchMoney; a
// change holds from the agent's next call on, on every replica, because inserts and
// claims are guarded by the generation that it raised (R52, R75).
//
// What it does not: it evaluates nothing (package policy), decides no approval (package
// approvals), and knows neither the operator's tables nor the organisation's word beyond
// the default mode; those are files. Machines set nothing: they may read the settings of
// their own agents.
//
// It keeps no state and does no I/O of its own. If the process dies at any line, the
// change was written as a whole or not at all; who sees it later is repaired by their
// next read.
package settings
