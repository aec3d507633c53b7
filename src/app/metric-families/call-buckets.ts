// The bounds by which requests are counted, to the API server and to clouds alike: client-go's.

export const callBuckets: readonly number[] = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
