import { spawnSync } from 'node:child_process'
import { env, execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { PLANTED } from './planted.ts'

/** Plants each defect that `isWanted` and walks. Returns how many were not found. */
export function findPlanted(isWanted: (id: string) => boolean): number {
  let unfound = 0
  for (const { id, defect, only } of PLANTED.filter((one) => isWanted(one.id))) {
    const how = walkWith(id, only)
    if (how.startsWith('not found')) unfound += 1
    console.log(`${id} ${defect}: ${how}`)
  }
  return unfound
}

function walkWith(id: string, only: string): string {
  const [main, plant] = ['main.ts', 'plant.ts'].map((name) => fileURLToPath(new URL(name, import.meta.url)))
  const args = ['--conditions=@tenure/source', '--import', `${plant}`, `${main}`, '--short', '--only', only]
  const { status, stdout, stderr } = spawnSync(execPath, args, {
    env: { ...env, TENURE_PLANTED: id },
    encoding: 'utf8',
  })
  const difference = /DIFFERENCE.*/.exec(stdout)?.[0]
  const uncovered = /.* steps, .*/.exec(stdout)?.[0]
  if (status === 1 && difference !== undefined) return `found by ${difference}`
  if (status === 1 && uncovered !== undefined) return `found by ${uncovered}`
  return `not found: ${stdout.slice(-500)} ${stderr.slice(-2000)}`
}
