// Package faults proves that a fleet keeps its promises while its parts fail: real
// processes of the real binary, a real PostgreSQL and a real Redis, fake messengers,
// and a person who answers on all surfaces.
//
// For each fault a fleet of its own is started, several of them side by side. Some hundred or thousand questions are
// asked over a proxy and answered on the page, over the API, by buttons and by commands
// on all messengers, a part of them by two answers at once; what was allowed is claimed
// by one or two runners. Meanwhile the fault happens, again and again. Afterwards
// everything works again, and the record and the messengers are held against what
// everybody was told:
//
//   - each question has one end, given by an answer;
//   - no answer that was acknowledged is lost or changed, and none counts that somebody
//     was told is not recorded;
//   - nothing ran twice, and nothing ran without an allow: the runners keep their own
//     books;
//   - every card shows the end, or is recorded as impossible with its class; a card that
//     a dead sender could not note answers with the truth when it is pressed, and then
//     shows it;
//   - events are numbered without gaps, linked, and in order for each question;
//   - nothing is left to be done, replicas stop in good order, and no request broke a
//     rule of a messenger.
//
// # That it means something
//
// A fault has to show that it happened, and to somebody: how many commits were done whose
// answer was lost, how many leases had moved when their holder woke up, how many questions
// found their end meanwhile, how many cards there were to be wrong. Without this evidence
// the campaign has failed, however much held. And what the checks are worth is known: see
// docs/fleet.md for the faults that were put into the product to see who notices.
//
// # What it promises
//
// [Run] is bounded in count and time: every story, every wait and every start has a
// limit. What is left to chance comes from one seed, which is printed; processes and
// networks keep their own time, so that the same seed is a similar campaign, not the
// same one. The summary has counts and ids and no content. Where a promise was found
// broken the folder with the logs is kept and its path is printed. A fault that cannot
// be brought about on a machine is reported as not run.
//
// # What it does not do
//
// It is no part of the product: cmd/faults and the package's own test run it, and
// nothing that serves links it. It measures nothing; see cmd/internal/bench.
package faults
