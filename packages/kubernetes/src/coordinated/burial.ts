import type { Clock } from '@tenure/core'
import { formatMicroTime, type LeaseHolder } from '@tenure/core/internal'
import { ApiRequestError } from '../client/api-request-error.ts'
import { deleteObject, getObject, updateObject } from '../client/object-requests.ts'
import type { ObjectReference } from '../client/resource.ts'
import { isJsonObject, type JsonObject, objectAt, stringAt } from '../json-object.ts'
import type { LeaseClient } from '../locks/lease/lease-client.ts'
import { CANDIDATES, readCandidate, type StoredCandidate } from './candidate-object.ts'

/** Where a holder has died, and how to reach it. */
interface Grave {
  readonly client: LeaseClient
  readonly lease: ObjectReference
  readonly clock: Clock
  readonly signal: AbortSignal
}

/**
 * Deletes the candidate of a holder whose process has provably ended, and releases its lease, if it still is of that term. The controller may
 * write between the read and the release, so a conflict is tried again.
 */
export async function bury(holder: LeaseHolder, grave: Grave): Promise<void> {
  await deleteCandidate(holder.identity, grave)
  while (!(await isReleased(holder, grave)));
}

/**
 * Deletes the candidate as it was seen first, apart from pings of the controller. A candidate that renews meanwhile, or another one of its
 * name, lives: it belongs to a new process with the same name.
 */
async function deleteCandidate(name: string, { client, lease, signal }: Grave): Promise<void> {
  const reference = { ...CANDIDATES, namespace: lease.namespace, name }
  let first: Pick<StoredCandidate, 'uid' | 'renewTime'> | undefined
  for (;;) {
    try {
      const object = await client.transport.send(getObject(reference, signal))
      const { uid, resourceVersion, renewTime } = readCandidate(isJsonObject(object) ? object : {})
      first ??= { uid, renewTime }
      if (uid !== first.uid || renewTime !== first.renewTime) return
      await client.transport.send(deleteObject(reference, { uid, resourceVersion }, signal))
      return
    } catch (error) {
      if (!(error instanceof ApiRequestError)) throw error
      if (error.failure === 'not-found') return
      if (error.failure !== 'conflict') throw error
    }
  }
}

/** Releases the lease as its holder would have done. False after a conflict. */
async function isReleased({ identity, acquireTime }: LeaseHolder, grave: Grave): Promise<boolean> {
  const { client, lease: reference, clock, signal } = grave
  const lease = await client.transport.send(getObject(reference, signal))
  const spec: JsonObject = isJsonObject(lease) ? objectAt(lease, 'spec') : {}
  const isSame = stringAt(spec, 'holderIdentity') === identity && stringAt(spec, 'acquireTime') === acquireTime
  if (!isSame || !isJsonObject(lease)) return true
  const { preferredHolder: _, ...kept } = spec
  const time = formatMicroTime(clock.wallTime())
  const release = { holderIdentity: '', leaseDurationSeconds: 1, acquireTime: time, renewTime: time }
  try {
    await client.transport.send(updateObject(reference, { ...lease, spec: { ...kept, ...release } }, signal))
    return true
  } catch (error) {
    if (error instanceof ApiRequestError && error.failure === 'conflict') return false
    throw error
  }
}
