package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"fairlead/steps"

	"github.com/digitalocean/godo"
)

var must = steps.Must

func equal[T any](actual, expected T) { steps.Equal(actual, expected) }

// Returns the value of a call that returns a value, a response and an error.
func got[T any](value T, _ *godo.Response, err error) T {
	must(err)
	return value
}

func done(_ *godo.Response, err error) { must(err) }

// Expects that a call without a value fails with this status, and a message that contains this text.
func refusedCall(status int, message string) func(*godo.Response, error) {
	return func(response *godo.Response, err error) {
		var refusal *godo.ErrorResponse
		if !errors.As(err, &refusal) || response.StatusCode != status || !strings.Contains(refusal.Message, message) {
			panic(fmt.Sprintf("expected %d with %q, got %v", status, message, err))
		}
		if refusal.RequestID == "" {
			panic("expected the id of the request in the error")
		}
	}
}

func refused[T any](status int, message string) func(T, *godo.Response, error) {
	return func(_ T, response *godo.Response, err error) { refusedCall(status, message)(response, err) }
}

// Waits until the condition holds.
func until(what string, holds func() bool) {
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			panic("timed out waiting for " + what)
		}
	}
}
