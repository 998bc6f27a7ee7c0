"""The one plain-data document that every report is made from: its entries as types, and what is summed up over them."""
