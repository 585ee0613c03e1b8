import type { Holdings } from '../replica/messages.ts'
import type { Author } from '../record/chronicle.ts'

/** What a replica held as a follower after a term and had not held before. */
export interface Leak {
  readonly replica: Author
  readonly epoch: bigint
  readonly excess: readonly string[]
}

interface Subject {
  readonly author: Author
  /** What it held as a follower before its first term. */
  baseline: Holdings | undefined
  hasLed: boolean
  /** The term that has left it with more than it should hold, as far as is known. */
  pending: { readonly epoch: bigint; excess: readonly string[] | undefined } | undefined
}

/**
 * Compares what followers hold after a term with what followers held that had never led.
 *
 * Connections close and kept-alive ones go idle a moment after the term, so a replica need not be back at that level at once; it
 * has to be there at some moment before it leads again. Nothing is exempt: an idle connection of a pool does not keep a process
 * alive and is therefore not counted, and the connections of the watch are there before a term as well as after it.
 */
export class LeakWatch {
  readonly #subjects = new Map<number, Subject>()
  readonly #leaks: Leak[] = []
  #commonBaseline: Holdings = {}
  #cleared = 0

  /** How many terms were found to have left nothing behind. */
  get cleared(): number {
    return this.#cleared
  }

  /** What was found so far, and what is not cleared yet. */
  get leaks(): readonly Leak[] {
    return [...this.#leaks, ...[...this.#subjects.values()].flatMap(pendingLeak)]
  }

  /** Whether the last term of a replica was found to have left nothing behind. */
  isCleared({ pid }: Author): boolean {
    return this.#subjects.get(pid)?.pending === undefined
  }

  /** A replica leads. What it still holds of its last term counts as a leak from now on. */
  termBegan(author: Author): void {
    const subject = this.#subjectOf(author)
    this.#leaks.push(...pendingLeak(subject))
    subject.pending = undefined
    subject.hasLed = true
  }

  /** A replica is a follower again. */
  termOver(author: Author, epoch: bigint): void {
    this.#subjectOf(author).pending = { epoch, excess: undefined }
  }

  /** A follower told what it holds. */
  followerHolds(author: Author, holdings: Holdings): void {
    const subject = this.#subjectOf(author)
    if (!subject.hasLed) {
      subject.baseline = larger(subject.baseline ?? {}, holdings)
      this.#commonBaseline = larger(this.#commonBaseline, holdings)
    } else if (subject.pending !== undefined) {
      // The first leader has not followed before its term. The levels of the other followers apply to it.
      const excess = excessOver(subject.baseline ?? this.#commonBaseline, holdings)
      subject.pending.excess = excess
      if (excess.length > 0) return
      subject.pending = undefined
      this.#cleared += 1
    }
  }

  /** A process has ended and holds nothing any more. */
  gone({ pid }: Author): void {
    const subject = this.#subjects.get(pid)
    if (subject !== undefined) this.#leaks.push(...pendingLeak(subject))
    this.#subjects.delete(pid)
  }

  #subjectOf({ name, pid }: Author): Subject {
    const known = this.#subjects.get(pid)
    if (known !== undefined) return known
    const subject: Subject = { author: { name, pid }, baseline: undefined, hasLed: false, pending: undefined }
    this.#subjects.set(pid, subject)
    return subject
  }
}

/** A term after which nothing was measured yet is no leak. */
function pendingLeak({ author, pending }: Subject): readonly Leak[] {
  if (pending?.excess === undefined) return []
  return [{ replica: author, epoch: pending.epoch, excess: pending.excess }]
}

function larger(a: Holdings, b: Holdings): Holdings {
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return Object.fromEntries([...names].map((name) => [name, Math.max(a[name] ?? 0, b[name] ?? 0)]))
}

function excessOver(baseline: Holdings, holdings: Holdings): readonly string[] {
  return Object.entries(holdings)
    .filter(([name, count]) => count > (baseline[name] ?? 0))
    .map(([name, count]) => `${name}: ${count}, was ${baseline[name] ?? 0}`)
}
