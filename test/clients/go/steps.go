// Package steps runs the steps of a client. Each step prints a line; the last lines are the numbers of those that passed and failed.
package steps

import (
	"fmt"
	"os"
	"reflect"
)

// A Step either returns or panics with what is wrong.
type Step struct {
	Name string
	Run  func()
}

// RunAll exits with code 1 if a step failed.
func RunAll(client string, all []Step) {
	failed := 0
	for _, each := range all {
		if problem := attempt(each.Run); problem != nil {
			failed++
			fmt.Printf("%v\n(fail) %s: %s\n", problem, client, each.Name)
		} else {
			fmt.Printf("(pass) %s: %s\n", client, each.Name)
		}
	}
	fmt.Printf(" %d pass\n %d fail\n", len(all)-failed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}

func attempt(run func()) (problem any) {
	defer func() { problem = recover() }()
	run()
	return nil
}

// Must panics with an error.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}

// Equal panics when the values differ.
func Equal[T any](actual, expected T) {
	if !reflect.DeepEqual(actual, expected) {
		panic(fmt.Sprintf("expected %#v, got %#v", expected, actual))
	}
}
