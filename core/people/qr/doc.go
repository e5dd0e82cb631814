// Package qr draws a QR code on a terminal, so that a phone can follow a one-time
// link that must not pass through anything else.
//
// What it promises: every module is drawn, with the quiet zone that scanners need,
// and in Colour it reads on dark and light terminals alike. What it does not do: it
// keeps, logs and sends nothing; the text stays in the writer that it is given.
package qr
