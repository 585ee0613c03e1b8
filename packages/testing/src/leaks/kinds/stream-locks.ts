import type { Entry, Ledger } from '../ledger.ts'
import { replaceProperty, type Undo, undoAll } from '../replace-property.ts'
import type { Tracker } from '../tracker.ts'

/** A reader or a writer of a web stream. */
interface Holder {
  readonly closed: Promise<unknown>
  releaseLock(): void
}

/** Readers and writers that lock a web stream which is neither closed nor garbage. */
export const trackStreamLocks: Tracker = ({ ledger }) => {
  const entries = new WeakMap<object, Entry>()
  const release = (holder: object) => {
    const entry = entries.get(holder)
    if (entry !== undefined) ledger.remove(entry)
  }
  const enter = (holder: Holder, detail: string) => {
    entries.set(holder, addLock(ledger, new WeakRef(holder), detail))
    const ref = new WeakRef(holder)
    const over = () => {
      const held = ref.deref()
      if (held !== undefined) release(held)
    }
    holder.closed.then(over, over)
  }
  return undoAll([
    watchReaders((reader) => enter(reader, 'a reader')),
    watchWriters((writer) => enter(writer, 'a writer')),
    ...[ReadableStreamDefaultReader, ReadableStreamBYOBReader, WritableStreamDefaultWriter].map((type) =>
      watchRelease(type.prototype, release),
    ),
  ])
}

function watchReaders(enter: (reader: Holder) => void): Undo {
  return replaceProperty(
    ReadableStream.prototype as unknown as Record<'getReader', (...args: unknown[]) => Holder>,
    'getReader',
    (original) =>
      function getReader(this: ReadableStream, ...args) {
        const reader = original.apply(this, args)
        enter(reader)
        return reader
      },
  )
}

function watchWriters(enter: (writer: Holder) => void): Undo {
  return replaceProperty(
    WritableStream.prototype as unknown as Record<'getWriter', () => Holder>,
    'getWriter',
    (original) =>
      function getWriter(this: WritableStream) {
        const writer = original.call(this)
        enter(writer)
        return writer
      },
  )
}

/** A separate function, so that its closures do not hold the stream. */
function addLock(ledger: Ledger, holder: WeakRef<Holder>, detail: string): Entry {
  return ledger.add({
    retained: holder,
    isAlive: () => holder.deref() !== undefined,
    describe: () => ({ kind: 'stream-lock', detail }),
  })
}

function watchRelease(prototype: Pick<Holder, 'releaseLock'>, release: (holder: object) => void): Undo {
  return replaceProperty(
    prototype,
    'releaseLock',
    (original) =>
      function releaseLock(this: Holder) {
        original.call(this)
        release(this)
      },
  )
}
