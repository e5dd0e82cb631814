package gateway

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
)

// Doctor examines the accounts that this process holds.
type Doctor interface {
	// Examine examines every account, mends what can be mended where that is asked
	// for, and sends test cards. Errors: core.ErrNotFound for an unknown person.
	Examine(ctx context.Context, e api.Examine) (api.Examination, error)
	// Examination tells what became of the test cards of an earlier one. Errors:
	// core.ErrNotFound for one that is unknown or long past.
	Examination(ctx context.Context, id string) (api.Examination, error)
}

// examineTime is granted to an examination beyond what any answer gets: platforms
// are asked several times, and each person is sent a card.
const examineTime = time.Minute

// registerDoctor mounts the examination. It is for this machine's operator alone: it
// speaks to people in the service's name.
func (g *Gateway) registerDoctor() {
	huma.Register(g.api, g.operation("examine", http.MethodPost, "/v1/doctor",
		"Examine the accounts and send test cards; for this machine's operator"), g.examine)
	huma.Register(g.api, g.operation("examination", http.MethodGet, "/v1/doctor/{examination}",
		"What became of the test cards; for this machine's operator"), g.examination)
}

// doctor is the part that examines. Errors: core.ErrForbidden for everybody but the
// operator, core.ErrUnavailable where there is none.
func (g *Gateway) doctor(ctx context.Context) (Doctor, error) {
	switch {
	case !callOf(ctx).caller.Operator:
		return nil, core.ErrForbidden
	case g.deps.Doctor == nil:
		return nil, core.ErrUnavailable
	}
	return g.deps.Doctor, nil
}

type examineInput struct {
	Body api.Examine
}

func (g *Gateway) examine(ctx context.Context, in *examineInput) (*output[api.Examination], error) {
	d, err := g.doctor(ctx)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	g.hold(ctx, examineTime)
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	e, err := d.Examine(ctx, in.Body)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	return respond(e), nil
}

type examinationInput struct {
	Examination string `path:"examination"`
}

func (g *Gateway) examination(ctx context.Context, in *examinationInput) (*output[api.Examination], error) {
	d, err := g.doctor(ctx)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	e, err := d.Examination(ctx, in.Examination)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	return respond(e), nil
}
