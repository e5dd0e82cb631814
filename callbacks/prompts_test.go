package callbacks_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/callbacks"
	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// openNote presses "deny with a note" and posts its prompt.
func openNote(t *testing.T, w *world, user string) {
	t.Helper()
	answer := w.pipeline.Click(t.Context(), w.press(t, user, message, callback(core.CallbackNote, core.KindExec, approvalID)))
	require.NotNil(t, answer.Prompt, answer.Text)
	require.NoError(t, w.pipeline.Placed(t.Context(), answer.Prompt.ID, promptAt))
}

func (w *world) replyTo(user, locator, text string) channels.Text {
	c := w.say(user, text)
	c.ReplyTo = locator
	return c
}

// R84: the note's prompt decides nothing; its answer denies with the note, on the
// card that was clicked.
func TestDenyWithANote(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	answer := w.pipeline.Click(t.Context(), w.press(t, "4711", message, callback(core.CallbackNote, core.KindExec, approvalID)))
	a := w.record(approvalID)
	require.Empty(t, cmp.Diff(channels.Answer{Prompt: &channels.Prompt{
		ID: "prompt-1", Text: presentation.PromptNote(a), Dialog: presentation.PromptNoteDialog(a),
		Placeholder: presentation.PromptNotePlaceholder, Title: presentation.PromptNoteTitle,
	}}, answer))
	require.Empty(t, cmp.Diff(core.Prompt{
		Ref: core.ResolutionRef(callbacks.KindPrompt, "prompt-1"), ID: "prompt-1", Purpose: core.PromptNote,
		Channel: bot.Channel, Account: bot.Account, Chat: chat, Realm: realm, ExternalID: "4711", Label: "@4711",
		ApprovalID: approvalID, DeliveryID: "d-direct", ExpiresAt: asked + core.PromptLife,
	}, w.prompts["prompt-1"]))
	require.Equal(t, core.StatusPending, a.Status)
	require.NoError(t, w.pipeline.Placed(t.Context(), "prompt-1", promptAt))

	note := w.replyTo("4711", promptAt, "  Wait for the release window.\n")
	require.Empty(t, cmp.Diff(channels.Answer{Text: "You denied this with your note."}, w.pipeline.Text(t.Context(), note)))
	a = w.record(approvalID)
	require.Equal(t, "Wait for the release window.", a.Note)
	require.Equal(t, "d-direct", a.DeliveryID)
	require.False(t, a.ByMessage)

	// Delivered again, or written again: the same decision, the first note (K22).
	again := w.replyTo("4711", promptAt, "Something else.")
	require.Empty(t, cmp.Diff(channels.Answer{Text: "You had already denied this with your note, 14:03 UTC."}, w.pipeline.Text(t.Context(), again)))
	require.Equal(t, "Wait for the release window.", w.record(approvalID).Note)
}

// Where the platform has dialogs, the dialog's id takes the place of the message
// that asks: it names the prompt, and proves nothing about who fills it in.
func TestNoteInADialog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	press := w.press(t, "4711", message, callback(core.CallbackNote, core.KindExec, approvalID))
	require.Equal(t, "prompt-1", w.pipeline.Click(t.Context(), press).Prompt.ID)
	fill := func(user, id, text string) channels.Answer {
		c := w.say(user, text)
		c.PromptID, c.Direct = id, false
		return w.pipeline.Text(t.Context(), c)
	}
	require.Equal(t, presentation.AnswerNotYourAsk, fill("4712", "prompt-1", "No.").Text)
	require.Equal(t, presentation.AnswerPromptGone, fill("4711", "prompt-9", "No.").Text)
	require.Equal(t, presentation.AnswerEmptyNote, fill("4711", "prompt-1", " \n").Text)
	w.onPrompt = core.ErrUnavailable
	require.Equal(t, presentation.AnswerNotRecorded, fill("4711", "prompt-1", "No.").Text)
	w.onPrompt = nil
	require.Empty(t, w.resolves)
	require.Equal(t, "You denied this with your note.", fill("4711", "prompt-1", "/srv is full").Text, "not a command")
	require.Equal(t, "/srv is full", w.record(approvalID).Note)
	require.Equal(t, "d-direct", w.record(approvalID).DeliveryID)

	require.NotNil(t, w.pipeline.Text(t.Context(), w.say("999", "/start LINKCODE")).Actions)
	require.Equal(t, presentation.AnswerPromptGone, fill("999", "prompt-2", "yes").Text, "a question that takes no text")
}

// A prompt belongs to the person it was put to, by place and by person.
func TestNoteOfSomebodyElseIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	openNote(t, w, "4711")
	require.Equal(t, presentation.AnswerNotYourAsk, w.pipeline.Text(t.Context(), w.replyTo("4712", promptAt, "No.")).Text)
	require.Equal(t, presentation.AnswerEmptyNote, w.pipeline.Text(t.Context(), w.replyTo("4711", promptAt, " \n")).Text)
	require.Equal(t, presentation.AnswerPromptGone, w.pipeline.Text(t.Context(), w.replyTo("4711", elsewhere, "No.")).Text)
	require.Empty(t, w.resolves)
	w.people[realm+"/4711"] = core.Principal{ID: "alice", Role: core.RoleReviewer, Disabled: true}
	require.Equal(t, notYours+"4711.", w.pipeline.Text(t.Context(), w.replyTo("4711", promptAt, "No.")).Text, "the right is checked at the answer")
	require.Equal(t, core.StatusPending, w.record(approvalID).Status)
}

// A note that begins with a path is a note, not a command.
func TestNoteThatLooksLikeACommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	openNote(t, w, "4711")
	require.Equal(t, "You denied this with your note.", w.pipeline.Text(t.Context(), w.replyTo("4711", promptAt, "/srv is full")).Text)
	require.Equal(t, "/srv is full", w.record(approvalID).Note)
}

// The note's own prompt also counts in a group, where other free text does not.
func TestNoteInAGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	openNote(t, w, "4711")
	note := w.replyTo("4711", promptAt, "Not now.")
	note.Direct = false
	require.Equal(t, "You denied this with your note.", w.pipeline.Text(t.Context(), note).Text)
}

// A note that comes too late is told who won; one that is not recorded may be
// written again.
func TestNoteAfterTheDecision(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	openNote(t, w, "4711")
	w.onPerson = core.ErrUnavailable
	require.Equal(t, presentation.AnswerNotRecorded, w.pipeline.Text(t.Context(), w.replyTo("4711", promptAt, "No.")).Text)
	w.onPerson, w.onGet = nil, core.ErrUnavailable
	require.Equal(t, presentation.AnswerNotRecorded, w.pipeline.Text(t.Context(), w.replyTo("4711", promptAt, "No.")).Text)
	w.onGet = nil
	require.Equal(t, "You allowed this once.", answerTo(t, w, "4712", allow(approvalID), groupCard))
	answer := w.pipeline.Text(t.Context(), w.replyTo("4711", promptAt, "No."))
	require.Empty(t, cmp.Diff(channels.Answer{Text: "Already decided: allowed once by Bob on Telegram, 14:03 UTC.", Alert: true}, answer))
}

func TestPromptsThatCannotBeStored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onPrompt = core.ErrStorageFull
	require.Equal(t, presentation.AnswerStorageFull, answerTo(t, w, "4711", callback(core.CallbackNote, core.KindExec, approvalID), message))
	require.Equal(t, presentation.AnswerStorageFull, w.pipeline.Text(t.Context(), w.replyTo("4711", promptAt, "No.")).Text)
	require.Equal(t, presentation.AnswerStorageFull, w.pipeline.Text(t.Context(), w.say("999", "/start LINKCODE")).Text)
	confirm := w.press(t, "999", promptAt, answer(core.CallbackConfirm, core.ResolutionRef(callbacks.KindPrompt, "prompt-1")))
	require.Equal(t, presentation.AnswerStorageFull, w.pipeline.Click(t.Context(), confirm).Text)
	require.ErrorIs(t, w.pipeline.Placed(t.Context(), "prompt-9", promptAt), core.ErrNotFound)
}

// K19, R133, R135: in a direct chat a plain reply to the card declines; the message
// is the note, and delivered again it changes nothing.
func TestPlainReplyDeclinesInADirectChat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := w.replyTo("4711", message, "Use the staging host.")
	require.Empty(t, cmp.Diff(channels.Answer{Text: "You declined this with your message."}, w.pipeline.Text(t.Context(), text)))
	a := w.record(approvalID)
	require.True(t, a.ByMessage)
	require.Equal(t, "Use the staging host.", a.Note)
	require.Equal(t, "chat:telegram:100200300:m1", a.DecisionKey)
	require.Equal(t, "d-direct", a.DeliveryID)
	require.Equal(t, "You had already declined this with your message, 14:03 UTC.", w.pipeline.Text(t.Context(), text).Text)
}

// Free text that is not explicit decides nothing: in groups, to nobody, blank, or
// where the channel has opted out.
func TestFreeTextDecidesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	inGroup := w.replyTo("4711", groupCard, "no!!")
	inGroup.Direct, inGroup.Chat = false, group
	require.Empty(t, cmp.Diff(channels.Answer{}, w.pipeline.Text(t.Context(), inGroup)))
	loose := w.say("4711", "deny "+approvalID)
	require.Equal(t, presentation.AnswerUsage, w.pipeline.Text(t.Context(), loose).Text)
	loose.Direct = false
	require.Empty(t, cmp.Diff(channels.Answer{}, w.pipeline.Text(t.Context(), loose)))
	require.Empty(t, cmp.Diff(channels.Answer{}, w.pipeline.Text(t.Context(), w.replyTo("4711", message, " \n "))))
	require.Equal(t, notYours+"999.", w.pipeline.Text(t.Context(), w.replyTo("999", message, "no")).Text)

	out := newWorld(t, func(c *callbacks.Config) { c.PlainReplies = func(core.AccountRef) bool { return false } })
	require.Empty(t, cmp.Diff(channels.Answer{}, out.pipeline.Text(t.Context(), out.replyTo("4711", message, "no"))))
	for _, each := range []*world{w, out} {
		require.Empty(t, each.resolves)
		require.Equal(t, core.StatusPending, each.record(approvalID).Status)
	}
	w.onRow = errors.New("odd")
	require.Equal(t, presentation.AnswerNotRecorded, w.pipeline.Text(t.Context(), w.replyTo("4711", message, "no")).Text)
}

// start sends /start with a code and returns its two buttons.
func start(t *testing.T, w *world, user string) (yes, no core.Action) {
	t.Helper()
	answer := w.pipeline.Text(t.Context(), w.say(user, "/start LINKCODE"))
	require.Equal(t, presentation.PromptLink("Alice", realm, "@"+user, user), answer.Text)
	require.Len(t, answer.Actions, 2)
	return answer.Actions[0], answer.Actions[1]
}

// Linking is asked at the chat's end and nothing is linked before the yes; the yes
// delivered again is told the same.
func TestLinkByCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	yes, no := start(t, w, "999")
	require.NotContains(t, w.people, realm+"/999")
	require.Contains(t, w.codes, "LINKCODE", "the question uses nothing up")
	const linked = "Linked. What you answer here counts as Alice."
	for _, action := range []core.Action{yes, yes, no} { // A no comes too late, and is told the truth.
		got := w.pipeline.Click(t.Context(), w.press(t, "999", promptAt, action))
		require.Empty(t, cmp.Diff(channels.Answer{Text: linked, Settled: linked}, got))
	}
	require.Equal(t, "alice", w.people[realm+"/999"].ID)
}

func TestLinkIsDismissed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	yes, no := start(t, w, "999")
	for _, c := range []struct {
		action core.Action
		want   string
	}{{no, presentation.AnswerDismissed}, {yes, presentation.AnswerPromptGone}} {
		got := w.pipeline.Click(t.Context(), w.press(t, "999", promptAt, c.action))
		require.Equal(t, c.want, got.Text)
		require.Equal(t, c.want, got.Settled)
	}
	require.NotContains(t, w.people, realm+"/999")
}

// The question is answered by whom it was put to, in that chat, and by a person.
func TestLinkIsNotAnsweredByOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	yes, _ := start(t, w, "999")
	require.Equal(t, presentation.AnswerNotYourAsk, answerTo(t, w, "1000", yes, promptAt))
	moved := w.press(t, "999", promptAt, yes)
	moved.Chat = group
	require.Equal(t, presentation.AnswerNotYourAsk, w.pipeline.Click(t.Context(), moved).Text)
	anonymous := w.press(t, "999", promptAt, yes)
	anonymous.Actor.Refused = "a channel"
	require.Equal(t, presentation.AnswerRefused("a channel"), w.pipeline.Click(t.Context(), anonymous).Text)
	unknown := answer(core.CallbackConfirm, core.ResolutionRef(callbacks.KindPrompt, "prompt-77"))
	require.Equal(t, presentation.AnswerPromptGone, answerTo(t, w, "999", unknown, promptAt))
	openNote(t, w, "4711")
	note := answer(core.CallbackConfirm, w.prompts["prompt-2"].Ref)
	require.Equal(t, presentation.AnswerPromptGone, answerTo(t, w, "4711", note, promptAt), "a note is no yes-or-no question")
	require.NotContains(t, w.people, realm+"/999")
	require.NotContains(t, w.people, realm+"/1000")
}

func TestLinkFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.Equal(t, presentation.AnswerCodeInvalid, w.pipeline.Text(t.Context(), w.say("999", "/start WRONG")).Text)
	yes, no := start(t, w, "999")
	for err, want := range map[error]string{
		core.ErrIdentityTaken:  presentation.AnswerIdentity,
		core.ErrCodeInvalid:    presentation.AnswerCodeInvalid,
		core.ErrUnavailable:    presentation.AnswerNotRecorded,
		core.ErrOutcomeUnknown: presentation.AnswerUnclear,
		errors.New("odd"):      presentation.AnswerUnclear,
	} {
		w.onLink = err
		require.Equal(t, want, answerTo(t, w, "999", yes, promptAt))
	}
	w.onLink = core.ErrUnavailable
	require.Equal(t, presentation.AnswerNotRecorded, w.pipeline.Text(t.Context(), w.say("999", "/start LINKCODE")).Text)
	require.NotContains(t, w.people, realm+"/999")
	require.Equal(t, presentation.AnswerDismissed, answerTo(t, w, "999", no, promptAt))
}

// A code that others could read is burned, whoever sent it.
func TestCodeInASharedChatIsBurned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := w.say("999", "/start@sayso_bot LINKCODE")
	text.Direct, text.Chat = false, group
	require.Equal(t, presentation.AnswerCodeShared, w.pipeline.Text(t.Context(), text).Text)
	require.Equal(t, []string{"LINKCODE"}, w.burned)
	require.Equal(t, presentation.AnswerCodeInvalid, w.pipeline.Text(t.Context(), w.say("999", "/start LINKCODE")).Text)
	require.NotContains(t, w.log.String(), "LINKCODE")
	w.onLink = core.ErrUnavailable
	require.Equal(t, presentation.AnswerCodeShared, w.pipeline.Text(t.Context(), text).Text)
}
