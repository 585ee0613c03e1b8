import { LockRequestError, type Lock, type LockFailure, type LockSnapshot, type PresentLease } from '@tenure/core'
import { textOf } from '@tenure/core/internal'
import type { Answer, Contest, ProcessRequest, StoredLease, Win } from './lock-process.ts'
import { sampleRecord, unaborted } from './sample-records.ts'

// Opens the lock of the user's module in its own process and performs the requests of the suite.

/** A write with an unknown outcome does not count as won. */
const NOT_WON: ReadonlySet<LockFailure> = new Set(['conflict', 'unknown-outcome'])

interface LockModule {
  readonly openLock: (argument: unknown) => Lock | Promise<Lock>
}

const [module = '', argument = 'null'] = process.argv.slice(2)
const { openLock } = (await import(module)) as LockModule
const lock = await openLock(JSON.parse(argument) as unknown)
const bases = new Map<bigint, PresentLease>()

process.on('message', (request: ProcessRequest) => void answer(request))
process.send?.({ kind: 'ready' })

async function answer({ id, request }: ProcessRequest): Promise<void> {
  const reply: Answer = await perform(request).then(
    (result) => ({ kind: 'done', id, result }),
    (error: unknown) => ({
      kind: 'failed',
      id,
      message: textOf(error),
      failure: error instanceof LockRequestError ? error.failure : undefined,
    }),
  )
  process.send?.(reply)
}

async function perform(request: ProcessRequest['request']): Promise<unknown> {
  switch (request.kind) {
    case 'get':
      return stored(await lock.get(unaborted()))
    case 'create':
      return stored(await lock.create(request.record, unaborted()))
    case 'update': {
      const base = bases.get(request.base)
      if (base === undefined) throw new Error(`This process has not seen version ${request.base}`)
      return stored(await lock.update(base, request.record, unaborted()))
    }
    case 'contend':
      return contend(request)
    default:
      return lock.close().then(() => null)
  }
}

function stored(snapshot: LockSnapshot): StoredLease {
  if (snapshot.kind === 'present') bases.set(snapshot.version, snapshot)
  const { kind, version } = snapshot
  return { kind, version, record: snapshot.kind === 'present' ? snapshot.record : undefined }
}

/** Updates the current lease repeatedly and returns the versions that it won. */
async function contend({ identity, forMs }: Contest): Promise<readonly Win[]> {
  const wins: Win[] = []
  const end = performance.now() + forMs
  for (let leaseTransitions = 1; performance.now() < end; leaseTransitions++) {
    const base = await lock.get(unaborted()).catch(unlessUnreachable)
    // A store under such a load may refuse to be read for a moment.
    if (base === undefined) continue
    if (base.kind === 'absent') throw new Error('The lease is gone')
    const record = sampleRecord({ holderIdentity: identity, leaseTransitions })
    const { version } = await lock.update(base, record, unaborted()).catch(conflictOf)
    if (version !== undefined) wins.push({ base: base.version, version })
  }
  return wins
}

function unlessUnreachable(error: unknown): undefined {
  if (!(error instanceof LockRequestError && error.failure === 'unreachable')) throw error
}

function conflictOf(error: unknown): { readonly version?: bigint } {
  if (error instanceof LockRequestError && NOT_WON.has(error.failure)) return {}
  throw error
}
