// Package pushed takes in what a platform pushes by HTTP, as far as that is the same
// for all of them: nothing but POST, and a body that is bounded and whole. Whether
// the platform sent it, and what it is told, is the channel's business: each platform
// takes another status for "do not bring this again".
package pushed
