// Package slack is the room of the Slack messenger: one app in one workspace,
// everything of the platform in it.
//
// Accounts. A Channel is one workspace, named "<team id>.<app id>". Both ids are
// configured (Socket Mode's app token holds the app's), because Ref must never change
// and New calls nobody; Identify asks the platform for them once, and Run refuses a
// token of another workspace or app. People are (team, user): the realm is
// "slack:<team id>". One app in several workspaces shares a Workspaces, since the
// platform hands any payload of the app to any of its connections.
//
// Sending and editing. A card is rich text, in which the platform takes text as it
// is: nothing in it can mention, link or disguise. Only the text for notifications is
// markup, and is escaped. Each block is kept to 3,000 characters, counted after
// escaping; what does not fit is cut, visibly, and such a card offers its CutActions.
// An edit always brings blocks and text. A layout that the platform refuses is tried
// once more in the plainest form. A send that may have had an effect is ambiguous; an
// edit may be repeated, so it is temporary.
//
// Receiving. By default two Socket Mode connections are kept, so that replacing one
// loses nothing; with Config.SigningSecret the handler of Webhook takes signed pushes
// instead. A payload is acknowledged when its Inbound call and answer are done, or
// neutrally after 2 s, since the platform waits for 3 and repeats no click; messages
// are acknowledged only when done, because those it does repeat. What one person does
// stays in order, different people are served side by side.
//
// Answering. Answers are ephemeral, through the response URL, seen by one person. A
// button that asks for text opens a dialog first thing, with the trigger that lives
// 3 s, and fills it once the click was handled; sending the dialog off is a Text that
// carries the prompt's id. "/sayso approve ..." becomes the text "/approve ...".
//
// Addresses are "<channel id>", "<channel id>/<ts>" for a thread, or "<user id>" for a
// direct chat. Locators are "<channel id>:<ts>" with the ids that the platform
// answered, so a direct chat's begin with D. Both are canonical.
//
// What it does not do: it does not retry, pace or give up on cards (the ledger does),
// and it decides nothing.
package slack
