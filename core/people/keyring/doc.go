// Package keyring keeps the secrets of the service itself: files that only their
// owner reads, and keys in the database that are sealed with one of those files.
//
// A Sealer encrypts with AES-256-GCM under the 32 random bytes of the secret key
// file; what it seals is bound to its purpose and id, so that rows cannot be
// swapped. A Ring loads the keys of a purpose or makes the first one. Replicas that
// start together agree on it: they try the same id, and the store keeps the first.
//
// What it promises: a file is there whole or not at all, with mode 0600, and is
// refused when others could read it; a stolen database opens no key. What it does
// not do: it keeps nothing in memory and watches nothing; a lost secret key file
// makes the sealed keys useless, so it belongs in the backup (apart from the
// database). On Windows the mode says nothing: the file is as private as its folder.
package keyring
