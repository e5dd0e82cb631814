// Package channeltest is the suite that every messenger passes, on its fake.
//
// Run takes a factory that gives each case a fresh platform and channel. There
// are no opt-outs: where platforms differ, the difference is a documented field
// of the Harness, and the case asserts what the platform does instead.
//
// The suite covers sending, editing and every class of failure; text of any
// script, markup and length; pressed buttons up to their decoding by callbacks;
// typed text and prompts; redelivery around a restart; and that neither errors nor
// logs ever hold a secret or a message's content. The numbers in the names of
// cases are those of the conformance list.
package channeltest
