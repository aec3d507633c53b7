// Counters, gauges and histograms, and their text for Prometheus. It measures nothing itself and knows no names.

export type LabelValues = Readonly<Record<string, string>>;

export interface Counter {
  add(labels?: LabelValues, amount?: number): void;
}

export interface Gauge {
  set(value: number, labels?: LabelValues): void;
}

export interface Histogram {
  observe(value: number, labels?: LabelValues): void;
}

/** What is declared of a metric, for its text and for the page that lists them. */
export interface MetricDeclaration {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly labels: readonly string[];
  /** Of a histogram. */
  readonly buckets?: readonly number[];
}

interface Family extends MetricDeclaration {
  lines(): Iterable<string>;
}

/** Of one metric. What comes beyond is counted under one name, so that no caller can fill the memory. */
const mostSeries = 1000;
const beyond = "other";

function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function series(name: string, labels: LabelValues): string {
  const entries = Object.entries(labels);
  if (entries.length === 0) return name;
  return `${name}{${entries.map(([key, value]) => `${key}="${escaped(value)}"`).join(",")}}`;
}

/** The series of one metric by their label values. Looked up thousands of times a second: text is made when it is asked for. */
class SeriesTable<T> {
  readonly all: { readonly labels: LabelValues; readonly state: T }[] = [];
  readonly #byValues = new Map<string, T>();
  readonly #labels: readonly string[];
  readonly #create: () => T;

  constructor(labels: readonly string[], create: () => T) {
    this.#labels = labels;
    this.#create = create;
    // Without labels there is one series from the start, as Prometheus asks for.
    if (labels.length === 0) this.of({});
  }

  of(given: LabelValues): T {
    let key = "";
    for (const label of this.#labels) key = key === "" ? (given[label] ?? "") : `${key}\0${given[label]}`;
    const known = this.#byValues.get(key);
    if (known !== undefined) return known;
    if (this.all.length > mostSeries)
      return (
        this.#byValues.get(beyond) ??
        this.#add(beyond, Object.fromEntries(this.#labels.map((label) => [label, beyond])))
      );
    return this.#add(key, Object.fromEntries(this.#labels.map((label) => [label, given[label] ?? ""])));
  }

  #add(key: string, labels: LabelValues): T {
    const state = this.#create();
    this.#byValues.set(key, state);
    this.all.push({ labels, state });
    return state;
  }
}

export class Metrics {
  readonly #families: Family[] = [];

  counter(name: string, help: string, labels: readonly string[] = []): Counter {
    const values = this.#values(name, help, "counter", labels);
    return {
      add: (of = {}, amount = 1) => {
        values.of(of).value += amount;
      },
    };
  }

  gauge(name: string, help: string, labels: readonly string[] = []): Gauge {
    const values = this.#values(name, help, "gauge", labels);
    return {
      set: (value, of = {}) => {
        values.of(of).value = value;
      },
    };
  }

  /** A gauge whose values are asked for when somebody looks. */
  gaugeFrom(
    name: string,
    help: string,
    labels: readonly string[],
    read: () => Iterable<readonly [LabelValues, number]>,
  ): void {
    this.#add({ name, help, type: "gauge", labels, lines: () => readLines(name, read) });
  }

  /** The same for what only grows. */
  counterFrom(
    name: string,
    help: string,
    labels: readonly string[],
    read: () => Iterable<readonly [LabelValues, number]>,
  ): void {
    this.#add({ name, help, type: "counter", labels, lines: () => readLines(name, read) });
  }

  /** In the order of their declaration. */
  get declarations(): readonly MetricDeclaration[] {
    return this.#families;
  }

  histogram(
    name: string,
    help: string,
    buckets: readonly number[],
    labels: readonly string[] = [],
  ): Histogram {
    const table = new SeriesTable(labels, () => ({ counts: buckets.map(() => 0), sum: 0, count: 0 }));
    const lines = () => table.all.flatMap((one) => histogramLines(name, buckets, one.labels, one.state));
    this.#add({ name, help, type: "histogram", labels, buckets, lines });
    return {
      observe: (value, of = {}) => {
        const one = table.of(of);
        const index = buckets.findIndex((bound) => value <= bound);
        if (index !== -1) one.counts[index] = (one.counts[index] ?? 0) + 1;
        one.sum += value;
        one.count += 1;
      },
    };
  }

  /** The exposition format of Prometheus, version 0.0.4. */
  text(): string {
    return this.#families
      .flatMap((family) => [
        `# HELP ${family.name} ${family.help}`,
        `# TYPE ${family.name} ${family.type}`,
        ...family.lines(),
      ])
      .join("\n")
      .concat("\n");
  }

  #values(name: string, help: string, type: "counter" | "gauge", labels: readonly string[]) {
    const table = new SeriesTable(labels, () => ({ value: 0 }));
    const lines = () => table.all.map((one) => `${series(name, one.labels)} ${one.state.value}`);
    this.#add({ name, help, type, labels, lines });
    return table;
  }

  #add(family: Family): void {
    if (this.#families.some(({ name }) => name === family.name)) {
      throw new Error(`The metric ${family.name} is declared twice.`);
    }
    this.#families.push(family);
  }
}

function readLines(name: string, read: () => Iterable<readonly [LabelValues, number]>): readonly string[] {
  return [...read()].map(([labels, value]) => `${series(name, labels)} ${value}`);
}

interface HistogramState {
  /** Of each bucket alone; the text adds them up. */
  readonly counts: readonly number[];
  readonly sum: number;
  readonly count: number;
}

function histogramLines(
  name: string,
  buckets: readonly number[],
  labels: LabelValues,
  { counts, sum, count }: HistogramState,
): string[] {
  let below = 0;
  return [
    ...buckets.map((bound, index) => {
      below += counts[index] ?? 0;
      return `${series(`${name}_bucket`, { ...labels, le: String(bound) })} ${below}`;
    }),
    `${series(`${name}_bucket`, { ...labels, le: "+Inf" })} ${count}`,
    `${series(`${name}_sum`, labels)} ${sum}`,
    `${series(`${name}_count`, labels)} ${count}`,
  ];
}
