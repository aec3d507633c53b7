package main

import (
	"errors"
	"fmt"
	"os"
	"reflect"

	"github.com/hetznercloud/hcloud-go/v2/hcloud"
)

// A step either returns or panics with what is wrong.
type step struct {
	name string
	run  func()
}

func runAll(steps []step) {
	failed := 0
	for _, each := range steps {
		if problem := attempt(each.run); problem != nil {
			failed++
			fmt.Printf("%v\n(fail) hcloud-go: %s\n", problem, each.name)
		} else {
			fmt.Printf("(pass) hcloud-go: %s\n", each.name)
		}
	}
	fmt.Printf(" %d pass\n %d fail\n", len(steps)-failed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}

func attempt(run func()) (problem any) {
	defer func() { problem = recover() }()
	run()
	return nil
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// Of a call that returns a value, a response and an error.
func got[T any](value T, _ *hcloud.Response, err error) T {
	must(err)
	return value
}

func equal[T any](actual, expected T) {
	if !reflect.DeepEqual(actual, expected) {
		panic(fmt.Sprintf("expected %#v, got %#v", expected, actual))
	}
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
