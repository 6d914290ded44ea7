// Measures how much work something is. The time on the clock depends on whatever else the machine does.

/** Returns the processor time that this thread has used, in milliseconds. */
export function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
