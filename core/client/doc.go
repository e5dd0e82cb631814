// Package client is the Go SDK: typed calls of the HTTP API for programs that ask,
// for the CLI, and for people's tools.
//
//	c, err := client.New(client.Config{BaseURL: "http://127.0.0.1:8787", Bearer: token})
//	asked, err := c.Ask(ctx, api.Ask{Kind: core.KindExec, ...}, 0)
//	answer, err := c.Wait(ctx, asked.Approval.ID)
//	if answer.Verdict == api.VerdictAllow { ... c.Claim ... run ... c.Report }
//
// What the package promises: errors of the service unwrap to the errors of core, so
// that errors.Is(err, core.ErrNotFound) works across the wire; an answer that was
// lost is asked for again only where asking twice is the same as asking once; Ask
// always carries an idempotency key, so that a lost answer never becomes a second
// question; Wait outlives restarts of the service; a redirect is never followed,
// and a bearer never travels in clear text off this machine unless told so.
//
// What it does not do: it decides nothing from an error. Only VerdictAllow and then
// a successful Claim mean "run"; everything else means "do not".
//
// The package uses the standard library and core only.
package client
