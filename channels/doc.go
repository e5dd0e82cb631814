// Package channels is the contract of a messenger: one room per platform below,
// everything of that platform in it. A channel renders, sends, edits and receives;
// it never decides, retries, paces or gives up.
package channels
