// Package api is the JSON of the HTTP API: the documents that core/gateway serves
// and core/client reads, so that both sides cannot drift apart.
//
// Times are unix milliseconds of the deployment's clock (server_time says what it
// reads now); durations of requests are Go durations such as "30m". A field that
// does not apply is left out. Additions are not breaking: clients must ignore
// fields that they do not know, while the service refuses request fields that it
// does not know.
//
// The struct tags beyond json (doc, enum, minimum, ...) document and validate the
// API; they carry no code. The package holds data only: no I/O, no behaviour
// beyond what the documents themselves mean.
package api
