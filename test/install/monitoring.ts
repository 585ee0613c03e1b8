import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = 'node_modules/@tenure/ops/monitoring'

/** @throws Error when an installed alert rule names a runbook that is not installed, or has no such section */
export function checkRunbooks(folder: string): void {
  const rules = globSync(`${FOLDER}/*.rules.yaml`, { cwd: folder }).map((file) =>
    readFileSync(join(folder, file), 'utf8'),
  )
  const alerts = rules.flatMap((text) => [...text.matchAll(/- alert: (\w+)$.*?runbook: (\S+?)#(\S+)$/gms)])
  if (alerts.length === 0) throw new Error(`Expected alert rules in ${FOLDER}`)
  const missing = alerts.filter(([, alert = '', page = '', section]) => !isThere(join(folder, page), alert, section))
  if (missing.length === 0) return
  throw new Error(`No runbook where the rule says: ${missing.map(([, ...parts]) => parts.join(' ')).join(', ')}`)
}

function isThere(page: string, alert: string, section: string | undefined): boolean {
  const isNamed = section === alert.toLowerCase()
  return isNamed && existsSync(page) && readFileSync(page, 'utf8').includes(`\n## ${alert}\n`)
}
