package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/fakes"
	fakediscord "github.com/saysohq/sayso/channels/fakes/discord"
	fakeslack "github.com/saysohq/sayso/channels/fakes/slack"
	"github.com/saysohq/sayso/cmd/internal/app"
	"github.com/saysohq/sayso/cmd/internal/config"
	"github.com/saysohq/sayso/cmd/internal/doctor"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/client"
	"github.com/saysohq/sayso/core/people/adminsocket"
	"github.com/saysohq/sayso/presentation"
)

// operator speaks through the admin socket, as the command line does.
func (r *running) operator(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{
		BaseURL: adminsocket.BaseURL, Transport: adminsocket.Transport(filepath.Join(r.data, app.SocketFile)),
		AllowPlainHTTP: true, Timeout: patience,
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// notWell lists the findings that are not in order.
func notWell(e api.Examination) []string {
	var list []string
	for _, f := range e.Findings {
		if f.Verdict != api.HealthOK {
			list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", f.Channel, f.Check, f.Name, f.Verdict)))
		}
	}
	slices.Sort(list)
	return list
}

// pressTest presses the test card of a person on one platform, as they do.
func (w *town) pressTest(t *testing.T, p member, on core.Surface) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	own := map[core.Surface]string{
		core.SurfaceTelegram: fmt.Sprint(p.telegram), core.SurfaceSlack: p.slack, core.SurfaceDiscord: "@" + p.discord,
	}[on]
	cards := slices.DeleteFunc(w.cards("Test card"), func(c card) bool { return c.on != on || c.Address != own })
	require.Len(t, cards, 1)
	require.Len(t, cards[0].Buttons, 1)
	said, err := w.click(ctx, &cards[0], p, cards[0].payload(presentation.LabelTest))
	require.NoError(t, err)
	require.Contains(t, []string{presentation.AnswerTestPassed, byCard}, said)
	await := map[core.Surface]func(context.Context, func(fakes.Message) bool) (fakes.Message, error){
		core.SurfaceTelegram: w.bot.AwaitMessage, core.SurfaceSlack: w.slack.AwaitMessage, core.SurfaceDiscord: w.discord.AwaitMessage,
	}[on]
	settled, err := await(ctx, func(m fakes.Message) bool {
		return m.Locator == cards[0].Locator && m.Text == presentation.AnswerTestPassed
	})
	require.NoError(t, err, "the card says so itself")
	require.Empty(t, settled.Buttons)
}

// From the token to the click: three healthy accounts, test cards to all, each click
// proven; nothing is decided by any of it and no platform's rule is broken.
func TestDoctorOfAHealthyTown(t *testing.T) {
	t.Parallel()
	w := settle(t)
	op := w.operator(t)
	e, err := op.Examine(t.Context(), api.Examine{Cards: true, Fix: true})
	require.NoError(t, err)
	require.Equal(t, 3*len(w.people), e.Waiting)
	require.Len(t, w.discord.Commands(), 1)
	for _, p := range w.people {
		for _, on := range []core.Surface{core.SurfaceTelegram, core.SurfaceSlack, core.SurfaceDiscord} {
			w.pressTest(t, p, on)
		}
	}
	e, err = op.Examination(t.Context(), e.ID)
	require.NoError(t, err)
	require.Empty(t, notWell(e))
	require.Zero(t, e.Waiting)
	var mended []string
	for _, f := range e.Findings {
		if f.Mended {
			mended = append(mended, f.Check)
		}
		if f.Check == doctor.CheckLastClick {
			require.NotContains(t, f.Detail, "none", f.Channel)
		}
	}
	require.Equal(t, []string{string(channels.CheckCommand)}, mended)
	list := send[api.List](t, w.running, http.StatusOK, call{method: http.MethodGet, path: "/v1/approvals", bearer: w.bearer(t)})
	require.Empty(t, list.Approvals)
	metrics := w.do(t, call{method: http.MethodGet, path: "/metrics"})
	for _, s := range []core.Surface{core.SurfaceTelegram, core.SurfaceSlack, core.SurfaceDiscord} {
		require.Regexp(t, fmt.Sprintf(`sayso_inbound_last_click_timestamp_seconds\{account="[^"]+",channel="%s"\} 1\.`, s), metrics.body)
	}
	w.obeyed(t)
}

// Each fault is found where it is, and says what to do; no report tells a secret.
func TestDoctorFindsFaults(t *testing.T) {
	t.Parallel()
	w := settle(t)
	op := w.operator(t)
	ann, bea := w.people[0], w.people[1]
	w.bot.SetWebhook("https://other.example/secret-path")
	w.slack.GrantScopes("chat:write,commands,im:history,im:write")
	w.slack.CloseChat(ann.slack)
	w.discord.Divert("https://other.example/secret-path")
	w.discord.CloseDirect(bea.discord)
	e, err := op.Examine(t.Context(), api.Examine{Cards: true})
	require.NoError(t, err)
	require.Equal(t, []string{
		"discord command  failed", "discord interactivity  failed", "discord test-card Ann waiting", "discord test-card Bea failed",
		"discord test-card Cem waiting", "slack permissions  failed", "slack test-card Ann failed", "slack test-card Bea waiting",
		"slack test-card Cem waiting", "telegram test-card Ann waiting", "telegram test-card Bea waiting",
		"telegram test-card Cem waiting", "telegram webhook  failed",
	}, notWell(e))
	for _, f := range e.Findings {
		require.Equal(t, f.Verdict == api.HealthFailed, f.Fix != "", "%s %s", f.Channel, f.Check)
	}
	report, err := json.Marshal(e)
	require.NoError(t, err)
	for _, secret := range []string{
		w.bot.Token(), w.discord.Token(), fakeslack.BotToken, fakeslack.AppToken, "secret-path", fakeslack.Secret,
	} {
		require.NotContains(t, string(report), secret)
		require.NotContains(t, w.log.String(), secret)
	}
	// What can be mended from here is.
	e, err = op.Examine(t.Context(), api.Examine{Fix: true})
	require.NoError(t, err)
	require.Equal(t, []string{"discord interactivity  failed", "slack permissions  failed"}, notWell(e))
	require.Empty(t, w.bot.WebhookURL())
}

// A revoked token is told once, by the check that says what to do, and by the side
// that receives.
func TestDoctorOfARevokedToken(t *testing.T) {
	t.Parallel()
	w := unsettled(t)
	w.listening(t)
	w.bot.Revoke()
	w.slack.Revoke()
	w.discord.Revoke()
	op := w.operator(t)
	require.Eventually(t, func() bool {
		e, err := op.Examine(t.Context(), api.Examine{})
		return err == nil && slices.Equal(notWell(e), []string{
			"discord receiving  failed", "discord token  failed", "slack receiving  failed", "slack token  failed",
			"telegram receiving  failed", "telegram token  failed",
		})
	}, patience, 50*time.Millisecond)
}

// A test card answers to its own person alone, through the whole service.
func TestTestCardOfSomebodyElse(t *testing.T) {
	t.Parallel()
	w := settle(t)
	op := w.operator(t)
	e, err := op.Examine(t.Context(), api.Examine{Person: w.people[1].id})
	require.NoError(t, err)
	require.Equal(t, 3, e.Waiting)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, c := range w.cards("Test card") {
		require.Equal(t, 1, c.owner)
		if c.on == core.SurfaceTelegram {
			said, err := w.click(ctx, &c, w.people[2], c.payload(presentation.LabelTest))
			require.NoError(t, err)
			require.Equal(t, presentation.AnswerNotYourAsk, said)
		}
	}
	e, err = op.Examination(t.Context(), e.ID)
	require.NoError(t, err)
	require.Equal(t, 3, e.Waiting)
}

// Without a running service the platforms are asked all the same, and mended.
func TestExamineWithoutTheService(t *testing.T) {
	t.Parallel()
	bot := platform(t)
	bot.SetWebhook("https://other.example/")
	other, err := fakediscord.Start(fakediscord.Config{})
	require.NoError(t, err)
	t.Cleanup(other.Close)
	o := options(folder(t), bot, &journal{})
	o.Config.Discord = []config.Discord{{Token: config.Secret(other.Token()), APIURL: other.URL()}}
	found, err := app.Examine(t.Context(), o, false)
	require.NoError(t, err)
	require.Equal(t, []string{"discord command  failed", "telegram webhook  failed"}, notWell(api.Examination{Findings: found}))
	found, err = app.Examine(t.Context(), o, true)
	require.NoError(t, err)
	require.Empty(t, notWell(api.Examination{Findings: found}))
	require.Empty(t, bot.WebhookURL())
	require.Len(t, other.Commands(), 1)
	require.NoDirExists(t, o.Config.Data, "examining makes nothing")
	require.Empty(t, bot.Messages())
}
