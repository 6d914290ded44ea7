# Has the plugin parse each inventory that is named, in one process, and prints a line of JSON with what it says of each: to start
# Ansible takes longer than most of these tests.
import json
import sys

from ansible.inventory.data import InventoryData
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import inventory_loader

for path in sys.argv[1:]:
    plugin = inventory_loader.get('treeline')
    try:
        plugin.parse(InventoryData(), DataLoader(), path)
        print(json.dumps('it was parsed'))
    except Exception as error:
        print(json.dumps(str(error)))
