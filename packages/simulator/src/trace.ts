/** One event of a run. */
export interface TraceLine {
  /** True time in milliseconds since the run began. */
  readonly at: number
  /** The replica, or another part of the simulation, that the event concerns. */
  readonly subject: string
  readonly text: string
}

const EPOCH = new Float64Array(1)
const WORDS = new Uint32Array(EPOCH.buffer)

/** The folders of the place of a call. They differ between two copies of a project. */
const FOLDERS = /file:\/\/\S*\//g

/**
 * The events of a run: a hash of all of them and, if wanted, their text.
 *
 * The hash covers the time, the subject and the kind of every event. Two runs with the same hash are the same run.
 */
export class Trace {
  readonly lines: TraceLine[] = []
  readonly isVerbose: boolean
  /** The number of events. */
  events = 0
  #isClosed = false
  #low = 0x811c9dc5
  #high = 0x2f0b4a87

  constructor(isVerbose: boolean) {
    this.isVerbose = isVerbose
  }

  /** 64 bits in hexadecimal digits. */
  get hash(): string {
    return [this.#high, this.#low].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('')
  }

  /** Ignores all further events. */
  close(): void {
    this.#isClosed = true
  }

  /** Adds an event to the hash, as numbers. */
  note(at: number, kind: number, detail: number): void {
    if (this.#isClosed) return
    this.events += 1
    EPOCH[0] = at
    this.#mix(WORDS[0] ?? 0)
    this.#mix(WORDS[1] ?? 0)
    this.#mix(kind)
    this.#mix(detail)
  }

  /** Adds an event to the hash and a line to the text. */
  say(at: number, subject: string, text: string): void {
    this.note(at, hashOf(subject), hashOf(text.replaceAll(FOLDERS, '')))
    this.show(at, subject, text)
  }

  /** Adds a line to the text only. Other events must already cover it in the hash. */
  show(at: number, subject: string, text: string): void {
    if (this.isVerbose && !this.#isClosed) this.lines.push({ at, subject, text })
  }

  #mix(word: number): void {
    this.#low = Math.imul(this.#low ^ word, 0x01000193) ^ (this.#high >>> 15)
    this.#high = (Math.imul(this.#high ^ (word >>> 7), 0x85ebca6b) + this.#low) | 0
  }
}

function hashOf(text: string): number {
  let hash = 0
  for (let index = 0; index < text.length; index++) hash = (Math.imul(hash, 31) + text.charCodeAt(index)) | 0
  return hash
}

/** The last `count` lines of a trace. */
export function describeTrace(lines: readonly TraceLine[], count = 40): string {
  const shown = lines.slice(-count)
  const left = lines.length - shown.length
  const head = left > 0 ? [`  … ${left} earlier lines`] : []
  return [...head, ...shown.map(describeLine)].join('\n')
}

function describeLine({ at, subject, text }: TraceLine): string {
  return `  ${at.toFixed(3).padStart(12)} ms  ${subject.padEnd(12)} ${text}`
}
