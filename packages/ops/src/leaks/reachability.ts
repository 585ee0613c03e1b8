/** How many later terms must be garbage before a reachable term counts as kept. */
const EVIDENCE = 3

/** So many at most are watched: what does not fit is forgotten, oldest first. */
const MOST_WATCHED = 100

interface Watched<T extends object> {
  readonly subject: WeakRef<object>
  readonly facts: T
  /** As old as the subject, and dropped when the subject should be: it shows that the garbage collector has been at that generation. */
  readonly twin: WeakRef<object>
  isTwinGone: boolean
  /** How many twins of later subjects are gone. */
  outlived: number
}

/**
 * Tells which objects are still reachable although they should not be, and never asks for a garbage collection.
 *
 * Each subject has a twin that is made and dropped together with it. When several twins of later subjects have been collected and a
 * subject has not, something holds it.
 */
export class Reachability<T extends object> {
  #watched: Watched<T>[] = []

  /** Begins to watch `subject`; call the returned function when nothing should hold it any more. `facts` must not hold it. */
  begin(subject: object, facts: T): () => void {
    let twin: object | undefined = {}
    const refs = { subject: new WeakRef(subject), twin: new WeakRef(twin) }
    return () => {
      // The reference in this closure is what has kept it.
      if (twin === undefined) return
      twin = undefined
      this.#watched.push({ ...refs, facts, isTwinGone: false, outlived: 0 })
      if (this.#watched.length > MOST_WATCHED) this.#watched.shift()
    }
  }

  /** The facts of the subjects that are found to be held, each once. */
  findKept(): readonly T[] {
    this.#countTwins()
    const kept = this.#watched.filter(({ outlived, subject }) => outlived >= EVIDENCE && subject.deref() !== undefined)
    const settled = new Set(kept)
    this.#watched = this.#watched.filter(
      (watched) => !settled.has(watched) && !(watched.isTwinGone && watched.subject.deref() === undefined),
    )
    return kept.map(({ facts }) => facts)
  }

  #countTwins(): void {
    for (const [index, watched] of this.#watched.entries()) {
      if (watched.isTwinGone || watched.twin.deref() !== undefined) continue
      watched.isTwinGone = true
      for (const earlier of this.#watched.slice(0, index)) earlier.outlived++
    }
  }
}
