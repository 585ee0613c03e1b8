import { startControlPlane } from '@tenure/test-control-plane'
import { describe, expect, it } from 'vitest'
import { formOf } from './slice-form.ts'
import { ServiceFleet } from './service-fleet.ts'
import { SliceWatch } from './slice-watch.ts'

describe('a slice beside the one of two kube-apiservers', () => {
  it('has the same form, and says besides who manages and owns it and how its endpoints do', async () => {
    await using server = await startControlPlane()
    const join = (host: string, address: string, port?: number) => {
      const apiServerArguments = [`--advertise-address=${address}`, '--endpoint-reconciler-type=lease']
      return server.addApiServer({ host, apiServerArguments, ...(port === undefined ? {} : { port }) })
    }
    const { url } = await join('127.0.0.2', '192.0.2.2')
    await join('127.0.0.3', '192.0.2.3', Number(new URL(url).port))
    await using theirs = await SliceWatch.open(server, { namespace: 'default', name: 'kubernetes' })
    const reference = await theirs.until('both API servers', ({ addresses }) => addresses.length === 2)
    await using fleet = await ServiceFleet.open(server, { service: 'form', leaseDurationMs: 3000 })
    await fleet.resize(2)
    const ours = await fleet.watch.until('both replicas', ({ addresses }) => addresses.length === 2)
    const form = formOf(reference.slice)
    expect(form).toMatchObject({
      isNamedAsService: true,
      isSorted: true,
      labels: ['kubernetes.io/service-name'],
      owner: [],
    })
    expect(formOf(ours.slice)).toEqual({
      ...form,
      labels: ['endpointslice.kubernetes.io/managed-by', 'kubernetes.io/service-name'],
      owner: ['apiVersion', 'kind', 'name', 'uid'],
      conditions: form.conditions.map((conditions) => ({ ...conditions, serving: true, terminating: false })),
    })
  })
})
