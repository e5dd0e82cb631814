package gateway_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/gateway"
)

// fakeDoctor answers with what it was asked.
type fakeDoctor struct{ asked []api.Examine }

func (d *fakeDoctor) Examine(_ context.Context, e api.Examine) (api.Examination, error) {
	if e.Person == "nobody" {
		return api.Examination{}, core.ErrNotFound
	}
	d.asked = append(d.asked, e)
	return sampleExamination(), nil
}

func (d *fakeDoctor) Examination(_ context.Context, id string) (api.Examination, error) {
	if id != "e-1" {
		return api.Examination{}, core.ErrNotFound
	}
	return sampleExamination(), nil
}

func sampleExamination() api.Examination {
	return api.Examination{ID: "e-1", Waiting: 1, ServerTime: serverNow, Findings: []api.Finding{
		{Channel: core.SurfaceTelegram, Account: "99", Check: "token", Verdict: api.HealthOK, Detail: "the bot is @a"},
		{Channel: core.SurfaceTelegram, Account: "99", Person: "bob", Name: "Bob", Check: "test-card", Verdict: api.HealthWaiting},
	}}
}

// The examination speaks to people in the service's name: it is the operator's alone,
// whatever role a bearer has.
func TestDoctorIsTheOperators(t *testing.T) {
	t.Parallel()
	d := &fakeDoctor{}
	e := newEdge(t, func(_ *gateway.Config, deps *gateway.Deps) { deps.Doctor = d })
	for _, bearer := range []string{machineBearer, reviewerBearer, adminBearer} {
		requireProblem(t, e.do(t, bearer, http.MethodPost, "/v1/doctor", `{"cards":true}`), http.StatusForbidden, "forbidden")
		requireProblem(t, e.do(t, bearer, http.MethodGet, "/v1/doctor/e-1", ""), http.StatusForbidden, "forbidden")
	}
	requireProblem(t, e.do(t, "", http.MethodPost, "/v1/doctor", `{}`), http.StatusUnauthorized, "unauthenticated")
	require.Empty(t, d.asked)

	admin := e.gateway.AdminHandler()
	w := serve(t, admin, "", http.MethodPost, "/v1/doctor", `{"cards":true,"person":"bob","fix":true}`)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.Empty(t, cmp.Diff(sampleExamination(), decodeInto[api.Examination](t, w)))
	require.Empty(t, cmp.Diff([]api.Examine{{Cards: true, Person: "bob", Fix: true}}, d.asked))
	w = serve(t, admin, "", http.MethodGet, "/v1/doctor/e-1", "")
	require.Empty(t, cmp.Diff(sampleExamination(), decodeInto[api.Examination](t, w)))
	requireProblem(t, serve(t, admin, "", http.MethodGet, "/v1/doctor/e-2", ""), http.StatusNotFound, "not_found")
	requireProblem(t, serve(t, admin, "", http.MethodPost, "/v1/doctor", `{"person":"nobody"}`), http.StatusNotFound, "not_found")
	requireProblem(t, serve(t, admin, "", http.MethodPost, "/v1/doctor", `{"cards":1}`), http.StatusUnprocessableEntity, "invalid")
}

func TestNothingToExamine(t *testing.T) {
	t.Parallel()
	w := serve(t, newEdge(t).gateway.AdminHandler(), "", http.MethodPost, "/v1/doctor", `{}`)
	requireProblem(t, w, http.StatusServiceUnavailable, "unavailable")
}
