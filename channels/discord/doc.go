// Package discord is the room of the Discord messenger: one application and its
// bot, everything of the platform in it.
//
// Sending and editing. A card becomes one message: what decides (outcome, title,
// class, the action, what was cut or hidden) in its content, at most 2,000 UTF-16
// units, because people and servers can hide embeds; the facts beside it in one
// embed. The action stands in a code block, or, where it could break out of one, as
// text with its markup escaped, like all other text. Every message is sent and
// edited with no mention allowed. What does not fit is cut, visibly, and such a card
// offers its CutActions. A send carries the ledger's nonce, so that a repetition
// within a few minutes makes no second message. An archived thread is opened again
// before its card is edited.
//
// Receiving. By default the package connects to the gateway, for interactions and
// for messages in direct chats, which need no privileged right. With
// Config.PublicKey it serves Interactions instead, an HTTP handler; the platform then
// tells nothing of typed messages. Neither keeps a click for later: nobody listens,
// the person sees an error and presses again. A click that the platform hands over
// after a lost connection decides only where it still takes a response; otherwise its
// sender was told that it failed. Interactions of one person stay in order, those of
// different people run side by side.
//
// Answering. The platform wants a first response within 3 s. A click, command or
// dialog that takes longer than 2 s is acknowledged without a word and told the
// truth afterwards, privately, within the 15 minutes that its token lives. A prompt
// is a dialog, which must be the first response. The click that decided is answered
// with the final card, which edits the clicked message (response type 7); it counts as
// shown only on a success of that response, and the ledger is told which it was.
// Everybody else is answered privately, in words.
//
// Addresses are "<channel id>" for channels and threads, and "@<user id>" for the
// direct chat with a person, whose own channel id never shows in one. Locators are
// "<channel id>:<message id>". Both are canonical. What happens on a private
// (ephemeral) message or in /sayso link, pending and whoami, which nobody else sees,
// counts as said in the person's direct chat.
//
// The library. Embeds, components, commands and constants are discordgo's. Its calls
// are not used: they sleep without regard for the context, repeat a send after a 502,
// hide the code of a rate limit, and know no nonce. Its gateway client is not used
// either: a frame "null" or an interval of 0 panics in a goroutine of its own, a
// reconnect before READY blocks it for ever, and closing sleeps for a second. The
// connection here has a deadline for each step, resumes where the platform says, and
// is replaced by a new session whenever in doubt.
//
// What it does not do: it keeps no state that a restart would miss, it does not
// retry, pace or give up on cards (the ledger does), and it decides nothing.
package discord
