// Package channels is the contract of a messenger: one room per platform below,
// everything of that platform in it.
//
// A Channel renders a neutral card for its platform, sends it to an address, edits
// the message by its locator, and receives what people press and type. It never
// decides, retries, paces or gives up: who may decide is the core's, and when to
// call again is the ledger's. So an Error says which class of failure it was, and
// no more is needed of it.
//
// Sending. Render never fails for length; it cuts, visibly, and then offers the
// card's CutActions, which do not allow. What a send may have left behind is the
// question that matters after a failure: NotSent (nothing left this machine),
// ambiguous (bytes were written and no answer came), or the platform's own word.
//
// Receiving. A channel hands each click and text to Inbound and finishes it, in the
// platform's sense, only after the call returned; a process that dies in between
// gets it again where the platform can do that. Each click gets one answer. The
// actor is who the platform authenticated, never what a payload or a name says.
//
// Of several processes only some may receive, where the platform says so: a Turn is
// taken around that, and whoever has none sends and edits all the same.
//
// Addresses and locators are strings in a canonical form that each channel
// documents: equal places have equal strings. Nobody else takes them apart.
//
// channeltest is the suite that all of them pass on the fakes in fakes.
package channels
