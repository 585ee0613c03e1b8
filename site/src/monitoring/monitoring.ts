import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { format, resolveConfig } from 'prettier'
import { ROOT } from '../stage.ts'
import { shippedRunbooks } from './runbooks.ts'

/** The folder of `@tenure/ops` that has what Prometheus reads, and what comes with it. */
export const MONITORING: string = join(ROOT, 'packages/ops/monitoring')

/** The files beside the rules that are made of sources, by name. */
export async function monitoringFiles(): Promise<ReadonlyMap<string, string>> {
  const style = await resolveConfig(join(MONITORING, 'runbooks.md'))
  const runbooks = shippedRunbooks(await readFile(join(ROOT, 'docs/runbooks.md'), 'utf8'))
  return new Map([['runbooks.md', await format(runbooks, { ...style, parser: 'markdown' })]])
}
