-- A jump to nowhere.
goto nowhere
