/**
 * One of several processes that write the same lease as fast as they can. Prints `won VERSION` for every write that it won and
 * `unknown VERSION` for every version that it may have written.
 */
import { LockRequestError, type LeaseRecord, type Lock, type PresentLease } from '@tenure/core'
import { FileLock } from '@tenure/file-lock'
import { carelessLock } from './careless-lock.ts'

const [path = '', kind = '', holderIdentity = ''] = process.argv.slice(2)
const lock: Lock = kind === 'careless' ? carelessLock(path) : new FileLock({ path })
const options = { signal: new AbortController().signal }

function recordAfter(base: LeaseRecord): LeaseRecord {
  return { ...base, holderIdentity, leaseTransitions: (base.leaseTransitions ?? 0) + 1 }
}

async function contend(base: PresentLease): Promise<void> {
  try {
    console.log(`won ${(await lock.update(base, recordAfter(base.record), options)).version}`)
  } catch (error) {
    if (!(error instanceof LockRequestError)) throw error
    if (error.failure === 'unknown-outcome') console.log(`unknown ${base.version + 1n}`)
    else if (error.failure !== 'conflict' && error.failure !== 'unreachable') throw error
  }
}

process.once('disconnect', () => process.exit())
for (;;) {
  const seen = await lock.get(options)
  if (seen.kind === 'present') await contend(seen)
}
