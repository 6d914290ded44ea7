# Has the plugin parse each inventory that is named, in one process, and prints a line of JSON with what it says of each: to start
# Ansible takes longer than most of these tests. The seconds are those of a processor since the start.
import json
import sys
import time

from ansible.inventory.data import InventoryData
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import inventory_loader

for path in sys.argv[1:]:
    inventory = InventoryData()
    try:
        inventory_loader.get('treeline').parse(inventory, DataLoader(), path)
        print(json.dumps(f'{len(inventory.hosts)} hosts, {time.process_time():.2f} s'))
    except Exception as error:
        print(json.dumps(str(error)))
