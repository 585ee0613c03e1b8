/**
 * A bare elector: one watch, one write as soon as it sees that nobody holds the lease, and one write to release it on SIGTERM. It does not
 * renew, and it has no safety: it shows the least that an election costs a process.
 */
import { type RawLease, RawLeaseClient } from '../handover/raw-lease.ts'
import type { ReplicaSetup } from '../handover/replica-process.ts'

const { identity, lease, access }: ReplicaSetup = JSON.parse(process.argv[2] ?? '{}')
if (access === undefined) throw new Error('Expected the setup to have `access`')
const client = new RawLeaseClient(access, lease.namespace)
let seen = await client.get(lease.name).catch(() => client.create(lease.name))
let isStopping = false

process.once('SIGTERM', () => void stop())
process.once('disconnect', () => process.exit(1))
process.channel?.unref()
await client.watch(seen, note)
note(seen)
process.send?.({ kind: 'ready', at: Number(process.hrtime.bigint()) / 1e6 })

function note(changed: RawLease): void {
  seen = changed
  // Another replica may be faster.
  if (seen.spec.holderIdentity === '' && !isStopping) client.put(seen, identity).then(note, () => {})
}

async function stop(): Promise<void> {
  isStopping = true
  if (seen.spec.holderIdentity === identity) await client.put(seen, '')
  process.exit()
}
