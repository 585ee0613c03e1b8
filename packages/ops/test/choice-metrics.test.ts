import { type Lock, MemoryLeaseStore } from '@tenure/core'
import type { Coordinator } from '@tenure/core/internal'
import { expect, test } from 'vitest'
import { controller, manage, type ManagedOps, samples } from './managed-ops.ts'

const lease = (emulationVersion: string) => ({
  name: 'janitor',
  strategy: 'OldestEmulationVersion',
  binaryVersion: '1.4.0',
  emulationVersion,
})

const NAMES = ['tenure_election_decider', 'tenure_candidate_', 'tenure_preemptions_total'] as const

async function page({ ops }: ManagedOps): Promise<readonly string[]> {
  return samples((await ops.metrics()).body, ...NAMES)
}

test('without a strategy there are no series of the choice', async () => {
  await using managed = manage({ controllers: [controller('sweeper')] })
  await managed.start()
  await managed.state('leading')
  expect(await page(managed)).toEqual([])
})

test('replicas show who decides, their rank, and that a leader made way for a better one', async () => {
  const store = new MemoryLeaseStore()
  await using worse = manage({ store, manager: { lease: lease('1.4.0') }, controllers: [controller('sweeper')] })
  await using better = manage({
    store,
    identity: 'replica-b',
    manager: { lease: lease('1.3.0') },
    controllers: [controller('sweeper')],
  })
  await worse.start()
  await worse.state('leading')
  await better.start()
  await better.state('leading')
  await worse.state('following')
  expect(await page(worse)).toEqual([
    'tenure_election_decider{name="janitor",decider="peers"} 1',
    'tenure_election_decider{name="janitor",decider="server"} 0',
    'tenure_election_decider{name="janitor",decider="asking"} 0',
    'tenure_candidate_rank{name="janitor"} 2',
    'tenure_candidate_pings_total{name="janitor",answer="in-time"} 0',
    'tenure_candidate_pings_total{name="janitor",answer="late"} 0',
    'tenure_preemptions_total{name="janitor",outcome="handed-over"} 1',
    'tenure_preemptions_total{name="janitor",outcome="unavailable"} 0',
  ])
  expect(await page(better)).toContain('tenure_candidate_rank{name="janitor"} 1')
  expect(await page(better)).toContain('tenure_preemptions_total{name="janitor",outcome="handed-over"} 0')
})

test('under a coordinator replicas show its pings and no rank', async () => {
  const store = new MemoryLeaseStore()
  const coordinator: Coordinator = {
    state: 'server',
    preferred: undefined,
    pings: { answered: 7, late: 2 },
    stand: () => {},
    watch: () => ({ close: async () => {} }),
  }
  const createLock = ({ name }: { readonly name: string }): Lock => Object.assign(store.lock(name), { coordinator })
  await using managed = manage({ manager: { lease: lease('1.4.0'), createLock }, controllers: [controller('sweeper')] })
  await managed.start()
  await managed.state('following')
  expect(await page(managed)).toEqual([
    'tenure_election_decider{name="janitor",decider="peers"} 0',
    'tenure_election_decider{name="janitor",decider="server"} 1',
    'tenure_election_decider{name="janitor",decider="asking"} 0',
    'tenure_candidate_pings_total{name="janitor",answer="in-time"} 7',
    'tenure_candidate_pings_total{name="janitor",answer="late"} 2',
    'tenure_preemptions_total{name="janitor",outcome="handed-over"} 0',
    'tenure_preemptions_total{name="janitor",outcome="unavailable"} 0',
  ])
})
