import { OptionsError } from '../../options/options-error.ts'
import type { Owner } from './owner.ts'

/** How to open and close a resource. */
export interface Acquisition<T> {
  readonly open: (signal: AbortSignal) => T | Promise<T>
  readonly close: (resource: T, signal: AbortSignal) => unknown
}

/**
 * Opens a resource and closes it during the cleanups of the term. A resource that arrives after the term began to end is closed
 * immediately. If `open` fails, the promise rejects; the controller does not fail.
 */
export function acquire<T>(owner: Owner, name: string, { open, close }: Acquisition<T>): Promise<T> {
  owner.assertOpen(`acquire ${name}`)
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  void owner.track(`acquire ${name}`, async (task) => {
    task.waitsOn = `\`open\` of ${name}`
    const opened = await attempt(() => open(owner.signal))
    const isAdmitted = owner.admits() && !owner.signal.aborted
    if (opened.kind === 'failed') return reject(opened.error)
    if (isAdmitted) {
      owner.defer((signal) => close(opened.resource, signal))
      return resolve(opened.resource)
    }
    reject(owner.signal.reason)
    task.waitsOn = `\`close\` of ${name}`
    await close(opened.resource, owner.hardSignal)
  })
  return promise
}

type Attempt<T> =
  { readonly kind: 'opened'; readonly resource: T } | { readonly kind: 'failed'; readonly error: unknown }

async function attempt<T>(open: () => T | Promise<T>): Promise<Attempt<T>> {
  try {
    return { kind: 'opened', resource: await open() }
  } catch (error) {
    return { kind: 'failed', error }
  }
}

/** Hands a disposable over to the term, which disposes of it during its cleanups. */
export function use<T extends Disposable | AsyncDisposable>(owner: Owner, resource: T): T {
  const dispose = disposerOf(resource)
  owner.defer(dispose)
  return resource
}

function disposerOf(resource: unknown): () => unknown {
  if (typeof resource === 'object' && resource !== null) {
    for (const key of [Symbol.asyncDispose, Symbol.dispose]) {
      const method: unknown = Reflect.get(resource, key)
      if (typeof method === 'function') return () => method.call(resource)
    }
  }
  throw OptionsError.expected(
    `\`term.use()\` to be given an object with \`[Symbol.asyncDispose]\` or \`[Symbol.dispose]\``,
    resource,
  )
}
