// Package redis connects the replicas of a fleet through one Redis: hints go from the
// replica that changed something to those that look at it, and all replicas spend one
// send budget for each bot, workspace and chat. Nothing that matters is kept there: a
// Redis may lose everything, or be gone, and only speed is lost.
//
// # Hints
//
// [New] wires a [Bus], which starts nothing; [Bus.Run] holds the one subscription of
// this replica and closes everything when it ends. A hint that is published here is
// dispatched here at once, through the local bus, and queued for the network in a
// bounded queue: Publish never waits, whatever Redis does. Hints that gather while a
// message is under way share the next one.
//
// Redis promises nothing about a published message, so the bus finds out what was lost:
//
//   - Every replica says four times a second that it lives, and listens for its own
//     beat. If that stays away for 0.8 s, the way there, Redis or the way back is
//     broken, and the subscription is made anew.
//   - Messages are numbered by their sender. A gap is lost hints, or hints that the
//     sender had to drop.
//   - A replica that falls silent without a goodbye is missed for a minute: it may be
//     cut off from Redis alone, and still decide.
//
// Whoever learns that hints were lost tells all its subscribers to look at everything
// (the zero hint), at most about once a second; and so it does every second for as long
// as Redis cannot be reached. That is polling speed, for every subscriber alike, with
// no timer of its own.
//
// The channel is "<prefix>:{<deployment>}:hints". Whoever may publish there can make
// replicas look again, and nothing else: a hint decides nothing, and messages that are
// malformed, too large, of another version or from too many senders are dropped and
// counted.
//
// # Budgets
//
// [Bus.Budgets] implements core.Budgets: one call of one script charges all buckets of
// a call or none, by Redis's clock, so that the clocks of the replicas do not matter.
// The rule is that of deliveries.Spend, and a test holds the two together. What a
// platform asked to hold is a gate in front of the buckets. Keys are digests under
// "<prefix>:{<deployment>}:" and end by themselves; no chat, account or person can be
// read there. Lost or damaged, a bucket is full: one burst too many.
//
// A Redis that does not answer within 50 ms is left alone for a second, in which
// callers go on with their own share; so a dead Redis costs one caller in each second
// 50 ms, and a bus that is not connected costs nobody anything.
//
// # What Redis needs
//
// Redis 5 or later (7.0 is what the tests run), or what speaks like it; no persistence, no modules, one database.
// The user needs PUBLISH and SUBSCRIBE on the channel, and GET, SET, MGET, TIME,
// EVALSHA and EVAL on the keys. A few megabytes are plenty; a policy that evicts keys
// does no harm. A replica has one connection for its subscription and up to 16 for
// calls. Of a cluster or a sentinel set it is given one address, best one that follows
// the primary.
//
// What it does not do: it retries nothing that Redis may have carried out, it holds no
// lock and no lease, and it says nothing of readiness: a replica without Redis serves.
package redis
