package main

import (
	"errors"
	"fmt"

	"fairlead/steps"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
)

var must = steps.Must

func equal[T any](actual, expected T) { steps.Equal(actual, expected) }

// Returns the value of a call that returns a value, a response and an error.
func got[T any](value T, _ *hcloud.Response, err error) T {
	must(err)
	return value
}

func refused[T any](code hcloud.ErrorCode) func(T, *hcloud.Response, error) hcloud.Error {
	return func(_ T, _ *hcloud.Response, err error) hcloud.Error {
		var refusal hcloud.Error
		if !errors.As(err, &refusal) || refusal.Code != code {
			panic(fmt.Sprintf("expected the error %s, got %v", code, err))
		}
		return refusal
	}
}
