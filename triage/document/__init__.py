"""The one plain-data document that every report is made from: its entries as types, and the totals over them."""
